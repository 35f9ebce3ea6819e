package kafkalog;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.DataTypes;

/** What filters leave of a load: topics, partitions, offsets, and times that batches must reach. */
final class Bounds {
    private static final Set<String> NEVER_NULL = Set.of("topic", "partition", "offset");
    private static final Set<String> COMPARISONS = Set.of("=", "<=>", "<", "<=", ">", ">=", "IN");
    private static final Set<String> OF_TEXT = Set.of("=", "<=>", "IN", "STARTS_WITH", "ENDS_WITH", "CONTAINS");

    private final List<Predicate> taken = new ArrayList<>();

    /** Returns the filters that are used, with times as Spark shows them. */
    List<String> shown() { return taken.stream().map(Bounds::shown).toList(); }

    Predicate[] taken() { return taken.toArray(new Predicate[0]); }

    /** Uses a filter if it can; returns whether nothing is left of it for Spark. */
    boolean take(Predicate filter) {
        if (!filter.name().equals("IS_NOT_NULL") && isUsed(filter)) taken.add(filter);
        return isAnswered(filter);
    }

    /** Returns what is left of the tasks. */
    List<List<Piece>> of(List<List<Piece>> tasks) {
        return tasks.stream().map(this::ofTask).filter(pieces -> !pieces.isEmpty()).toList();
    }

    private List<Piece> ofTask(List<Piece> pieces) {
        return pieces.stream()
            .map(each -> each.within(taken.stream().map(filter -> wanted(filter, each)).reduce(Wanted.ALL, Wanted::and)))
            .filter(each -> !each.isEmpty())
            .toList();
    }

    /** Returns whether a filter may leave something out. */
    private static boolean isUsed(Predicate filter) {
        return switch (filter.name()) {
            case "AND" -> sides(filter).anyMatch(Bounds::isUsed);
            case "OR" -> sides(filter).allMatch(Bounds::isUsed);
            case "NOT" -> sides(filter).allMatch(Bounds::isOfPartitions);
            default -> isKnown(filter);
        };
    }

    /** Returns whether the rows that are left are exactly those of a filter. */
    private static boolean isAnswered(Predicate filter) {
        return switch (filter.name()) {
            case "AND" -> sides(filter).allMatch(Bounds::isAnswered);
            case "OR", "NOT" -> isOfPartitions(filter);
            case "IS_NOT_NULL" -> NEVER_NULL.contains(column(filter));
            case "IN" -> isOfPartitions(filter);
            default -> isKnown(filter) && !column(filter).equals("timestamp");
        };
    }

    /** Returns whether a filter takes all records of a partition or none. */
    private static boolean isOfPartitions(Predicate filter) {
        if (Set.of("AND", "OR", "NOT").contains(filter.name())) return sides(filter).allMatch(Bounds::isOfPartitions);
        return isKnown(filter) && Set.of("topic", "partition").contains(column(filter));
    }

    /** Returns whether a filter compares a column of ours with literals. */
    private static boolean isKnown(Predicate filter) {
        List<Object> values = values(filter);
        if (values == null || values.isEmpty()) return false;
        return switch (column(filter)) {
            case "topic" -> OF_TEXT.contains(filter.name());
            case "partition", "timestamp" -> COMPARISONS.contains(filter.name());
            case "offset" -> COMPARISONS.contains(filter.name()) && !values.contains(Long.MAX_VALUE);
            default -> false;
        };
    }

    private static Wanted wanted(Predicate filter, Piece piece) {
        Stream<Wanted> ofSides = sides(filter).map(each -> wanted(each, piece));
        if (filter.name().equals("AND")) return ofSides.reduce(Wanted.ALL, Wanted::and);
        if (filter.name().equals("OR")) return ofSides.reduce(Wanted.NONE, Wanted::or);
        if (filter.name().equals("NOT")) return !isUsed(filter) || ofSides.allMatch(Wanted::isEmpty) ? Wanted.ALL : Wanted.NONE;
        if (!isKnown(filter)) return Wanted.ALL;
        Stream<Object> values = values(filter).stream();
        return switch (column(filter)) {
            case "topic" -> values.anyMatch(each -> fits(piece.topic(), filter.name(), each.toString())) ? Wanted.ALL : Wanted.NONE;
            case "partition" -> values.map(each -> Wanted.offsets(filter.name(), ((Number) each).longValue()))
                .anyMatch(each -> each.low() <= piece.partition() && piece.partition() < each.high()) ? Wanted.ALL : Wanted.NONE;
            case "offset" -> values.map(each -> Wanted.offsets(filter.name(), (Long) each)).reduce(Wanted.NONE, Wanted::or);
            default -> values.map(each -> Wanted.times(filter.name(), (Long) each)).reduce(Wanted.NONE, Wanted::or);
        };
    }

    private static boolean fits(String topic, String comparison, String text) {
        return switch (comparison) {
            case "STARTS_WITH" -> topic.startsWith(text);
            case "ENDS_WITH" -> topic.endsWith(text);
            case "CONTAINS" -> topic.contains(text);
            default -> topic.equals(text);
        };
    }

    /** Returns the filters that a filter joins or denies; of any other there are none. */
    private static Stream<Predicate> sides(Predicate filter) {
        return Arrays.stream(filter.children()).filter(Predicate.class::isInstance).map(Predicate.class::cast);
    }

    private static String column(Predicate filter) {
        boolean isColumn = filter.children().length > 0 && filter.children()[0] instanceof NamedReference;
        return isColumn ? String.join(".", ((NamedReference) filter.children()[0]).fieldNames()) : "";
    }

    /** Returns what a column is compared with; null: with something that is no literal, or null. */
    private static List<Object> values(Predicate filter) {
        List<Object> values = new ArrayList<>();
        for (Expression each : Arrays.asList(filter.children()).subList(Math.min(1, filter.children().length), filter.children().length)) {
            if (!(each instanceof Literal<?> literal) || literal.value() == null) return null;
            values.add(literal.value());
        }
        return values;
    }

    private static String shown(Expression part) {
        if (part instanceof Literal<?> literal && literal.dataType().equals(DataTypes.TimestampType)) {
            return Instant.EPOCH.plus((Long) literal.value(), ChronoUnit.MICROS).toString();
        }
        if (!(part instanceof Predicate filter)) return part.toString();
        List<String> parts = Arrays.stream(filter.children()).map(Bounds::shown).toList();
        String more = parts.stream().skip(1).collect(Collectors.joining(", "));
        return switch (filter.name()) {
            case "AND", "OR" -> "(" + String.join(" " + filter.name() + " ", parts) + ")";
            case "NOT" -> "NOT " + parts.get(0);
            case "IN" -> parts.get(0) + " IN (" + more + ")";
            default -> parts.size() == 2 ? parts.get(0) + " " + filter.name() + " " + more : filter.toString();
        };
    }
}
