package kafkalog;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.List;

/**
 * What the planner answers.
 *
 * @param tasks the pieces of each task
 * @param largest bytes to which the records of one batch may decompress
 * @param reason why the Python source has to read; null: it need not
 * @param refused why no batch query is possible; a stream may be
 * @param warnings what the user of a batch query should know
 */
record Plan(List<List<Piece>> tasks, int largest, String reason, String refused, List<String> warnings) {
    static Plan of(JsonNode answer) {
        List<List<Piece>> tasks = new ArrayList<>();
        answer.path("tasks").forEach(each -> tasks.add(List.of(Planner.JSON.convertValue(each, Piece[].class))));
        List<String> warnings = new ArrayList<>();
        answer.path("warnings").forEach(each -> warnings.add(each.asText()));
        return new Plan(tasks, answer.path("largest").asInt(), answer.path("reason").textValue(),
            answer.path("refused").textValue(), warnings);
    }
}
