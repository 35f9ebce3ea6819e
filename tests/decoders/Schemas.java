import java.lang.reflect.Modifier;
import java.util.Enumeration;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;

/**
 * Prints every message that Kafka stores, or with the argument "requests" that clients send and get, one line for each version: its name, the version, its fields; and one
 * line for each field: its name, the field, its default.
 */
public final class Schemas {
    private static String type(Type type) {
        String end = type.isNullable() ? "?" : "";
        if (type instanceof Schema) return "{" + fields((Schema) type) + "}" + end;
        if (type.isArray()) return "[" + type(type.arrayElementType().get()) + "]" + end;
        return type.toString().toLowerCase().replace("compact_", "").replace("nullable_", "") + end;
    }

    private static String fields(Schema schema) {
        StringBuilder text = new StringBuilder();
        for (BoundField field : schema.fields()) {
            if (field.def.type instanceof TaggedFields) {
                for (Map.Entry<Integer, Field> tagged : ((TaggedFields) field.def.type).fields().entrySet())
                    text.append("tag ").append(tagged.getKey()).append(" ").append(tagged.getValue().name)
                        .append(":").append(type(tagged.getValue().type)).append(" ");
                text.append("~ ");
            } else {
                text.append(field.def.name).append(":").append(type(field.def.type)).append(" ");
            }
        }
        return text.toString().trim();
    }

    private static boolean isWanted(String file, boolean isStored) {
        return file.matches(".*/(generated|common/metadata|common/message)/[^/$]*\\.class")
            && isStored != file.matches(".*(Request|Response)Data\\.class")
            && !(isStored && file.matches(".*(Request|Response).*"));
    }

    public static void main(String[] arguments) throws Exception {
        for (String path : System.getProperty("java.class.path").split(java.io.File.pathSeparator)) {
            if (!path.matches(".*/kafka[^/]*\\.jar")) continue;
            try (JarFile jar = new JarFile(path)) {
                for (Enumeration<JarEntry> entries = jar.entries(); entries.hasMoreElements();) {
                    String file = entries.nextElement().getName();
                    if (!isWanted(file, arguments.length == 0)) continue;
                    Class<?> message = Class.forName(file.replace('/', '.').substring(0, file.length() - 6));
                    Schema[] schemas;
                    try {
                        schemas = (Schema[]) message.getField("SCHEMAS").get(null);
                    } catch (NoSuchFieldException error) {
                        continue; // no message
                    }
                    for (int version = 0; version < schemas.length; version++)
                        if (schemas[version] != null)
                            System.out.println(message.getSimpleName() + " " + version + " " + fields(schemas[version]));
                    Object empty = message.getConstructor().newInstance();
                    for (java.lang.reflect.Field field : message.getDeclaredFields()) {
                        if (Modifier.isStatic(field.getModifiers())) continue;
                        field.setAccessible(true);
                        System.out.println(message.getSimpleName() + " " + field.getName() + " " + field.get(empty));
                    }
                }
            }
        }
    }
}
