package kafkalog;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;

/** What filters leave of a load: topics, partitions, offsets, and a time that batches must reach. */
final class Bounds {
    private static final Set<String> NEVER_NULL = Set.of("topic", "partition", "offset");
    private static final Set<String> SETS = Set.of("=", "IN");

    private final List<Predicate> taken = new ArrayList<>();
    private Set<String> topics;
    private Set<String> partitions;
    private long low = Long.MIN_VALUE;
    private long high = Long.MAX_VALUE;
    private long since = Long.MIN_VALUE;

    List<Predicate> taken() { return taken; }

    /** Returns the time in ms that a batch must reach to hold wanted records. */
    long since() { return since; }

    /** Uses a filter if it can; returns whether nothing is left of it for Spark. */
    boolean take(Predicate filter) {
        Expression[] parts = filter.children();
        if (parts.length == 0 || !(parts[0] instanceof NamedReference name) || name.fieldNames().length != 1) return false;
        String column = name.fieldNames()[0];
        if (filter.name().equals("IS_NOT_NULL")) return NEVER_NULL.contains(column);
        List<Object> values = new ArrayList<>();
        for (Expression each : Arrays.asList(parts).subList(1, parts.length)) {
            if (!(each instanceof Literal<?> literal) || literal.value() == null) return false;
            values.add(literal.value());
        }
        boolean isUsed = !values.isEmpty() && switch (column) {
            case "topic" -> SETS.contains(filter.name()) && (topics = within(topics, values)) != null;
            case "partition" -> SETS.contains(filter.name()) && (partitions = within(partitions, values)) != null;
            case "offset" -> takeOffset(filter.name(), (Long) values.get(0));
            case "timestamp" -> takeTime(filter.name(), (Long) values.get(0));
            default -> false;
        };
        if (isUsed) taken.add(filter);
        return isUsed && !column.equals("timestamp");
    }

    private static Set<String> within(Set<String> before, List<Object> values) {
        Set<String> found = values.stream().map(Object::toString).collect(Collectors.toCollection(HashSet::new));
        if (before != null) found.retainAll(before);
        return found;
    }

    private boolean takeOffset(String comparison, long offset) {
        if (offset == Long.MAX_VALUE || !List.of("=", ">", ">=", "<", "<=").contains(comparison)) return false;
        if (comparison.equals(">")) low = Math.max(low, offset + 1);
        else if (!comparison.startsWith("<")) low = Math.max(low, offset);
        if (comparison.equals("<")) high = Math.min(high, offset);
        else if (!comparison.startsWith(">")) high = Math.min(high, offset + 1);
        return true;
    }

    private boolean takeTime(String comparison, long microseconds) {
        if (!List.of("=", ">", ">=").contains(comparison)) return false;
        since = Math.max(since, Math.floorDiv(microseconds, 1000L));
        return true;
    }

    /** Returns what is left of the tasks. */
    List<List<Piece>> of(List<List<Piece>> tasks) {
        return tasks.stream().map(this::ofTask).filter(pieces -> !pieces.isEmpty()).toList();
    }

    private List<Piece> ofTask(List<Piece> pieces) {
        return pieces.stream()
            .filter(each -> topics == null || topics.contains(each.topic()))
            .filter(each -> partitions == null || partitions.contains(String.valueOf(each.partition())))
            .map(each -> each.within(low, high))
            .filter(each -> !each.isEmpty())
            .toList();
    }
}
