package kafkalog;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The format. Its options are the Python source's, which reads what the reader in Java does not. */
public class LogProvider implements TableProvider {
    /** What a catalog keeps beside the options of a table. */
    private static final Set<String> CATALOG =
        Set.of("owner", "location", "provider", "external", "comment", "collation", "is_managed_location");

    @Override public StructType inferSchema(CaseInsensitiveStringMap options) {
        return (StructType) DataType.fromJson(Planner.ask("schema", given(options), "").get("schema").asText());
    }

    @Override public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
        return new LogTable(schema, given(properties));
    }

    @Override public boolean supportsExternalMetadata() { return true; }

    /** Returns the options of a load. */
    static Map<String, String> given(Map<String, String> properties) {
        Map<String, String> all = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        all.putAll(properties);
        if (all.containsKey("location")) all.putIfAbsent("path", all.get("location"));
        all.keySet().removeIf(name -> CATALOG.contains(name.toLowerCase()) || name.startsWith("option."));
        return all;
    }
}
