import java.io.BufferedReader;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.storage.internals.log.AbortedTxn;
import org.apache.kafka.storage.internals.log.OffsetIndex;
import org.apache.kafka.storage.internals.log.OffsetPosition;
import org.apache.kafka.storage.internals.log.TimeIndex;
import org.apache.kafka.storage.internals.log.TimestampOffset;
import org.apache.kafka.storage.internals.log.TransactionIndex;
import org.apache.kafka.storage.internals.log.TxnIndexSearchResult;

/** Does to the files of a segment what the lines of a text say, and prints a line for each. */
public class KafkaFiles {
    static OffsetIndex offsets;
    static TimeIndex times;
    static TransactionIndex transactions;
    static FileRecords log;

    public static void main(String[] arguments) throws Exception {
        StringBuilder out = new StringBuilder();
        try (BufferedReader lines = Files.newBufferedReader(Path.of(arguments[0]))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String result;
                try {
                    result = run(line.split(" "));
                } catch (Exception error) {
                    result = error.getClass().getSimpleName();
                }
                out.append(result).append('\n');
            }
        }
        Files.writeString(Path.of(arguments[1]), out.toString());
    }

    static String run(String[] words) throws Exception {
        long[] n = new long[words.length];
        for (int i = 1; i < words.length; i++)
            if (words[i].matches("-?\\d+"))
                n[i] = Long.parseLong(words[i]);
        switch (words[0]) {
            case "offsets.open":
                offsets = new OffsetIndex(new File(words[1]), n[2], (int) n[3], true);
                return offsets.entries() + " " + offsets.lastOffset();
            case "offsets.lookup": return show(offsets.lookup(n[1]));
            case "offsets.upper":
                Optional<OffsetPosition> bound =
                    offsets.fetchUpperBoundOffset(new OffsetPosition(0, (int) n[1]), (int) n[2]);
                return bound.map(KafkaFiles::show).orElse("none");
            case "offsets.append":
                offsets.append(n[1], (int) n[2]);
                return offsets.entries() + " " + offsets.lastOffset() + " " + offsets.isFull();
            case "offsets.truncate_to":
                offsets.truncateTo(n[1]);
                return offsets.entries() + " " + offsets.lastOffset();
            case "offsets.reset": offsets.reset(); return offsets.entries() + "";
            case "offsets.resize": return offsets.resize((int) n[1]) + " " + offsets.maxEntries();
            case "offsets.sanity": offsets.sanityCheck(); return "sane";
            case "offsets.close": offsets.close(); return "closed";
            case "times.open":
                times = new TimeIndex(new File(words[1]), n[2], (int) n[3], true);
                return times.entries() + " " + show(times.lastEntry());
            case "times.lookup": return show(times.lookup(n[1]));
            case "times.append":
                times.maybeAppend(n[1], n[2], n[3] == 1);
                return times.entries() + " " + show(times.lastEntry()) + " " + times.isFull();
            case "times.truncate_to":
                times.truncateTo(n[1]);
                return times.entries() + " " + show(times.lastEntry());
            case "times.reset": times.reset(); return times.entries() + "";
            case "times.resize": return times.resize((int) n[1]) + " " + times.maxEntries();
            case "times.sanity": times.sanityCheck(); return "sane";
            case "times.close": times.close(); return "closed";
            case "transactions.open":
                transactions = new TransactionIndex(n[2], new File(words[1]));
                return transactions.isEmpty() + "";
            case "transactions.append":
                transactions.append(new AbortedTxn(n[1], n[2], n[3], n[4]));
                return "appended";
            case "transactions.collect":
                TxnIndexSearchResult found = transactions.collectAbortedTxns(n[1], n[2]);
                StringBuilder text = new StringBuilder(found.isComplete() + "");
                for (AbortedTxn txn : found.abortedTransactions())
                    text.append(" ").append(txn.producerId()).append(":").append(txn.lastOffset());
                return text.toString();
            case "transactions.truncate_to": transactions.truncateTo(n[1]); return "cut";
            case "transactions.sanity": transactions.sanityCheck(); return "sane";
            case "transactions.close": transactions.close(); return "closed";
            case "log.open": log = FileRecords.open(new File(words[1])); return log.sizeInBytes() + "";
            case "log.offset":
                FileRecords.LogOffsetPosition place =
                    log.searchForOffsetFromPosition(n[1], (int) n[2]);
                return place == null ? "none" : place.offset + " " + place.position + " " + place.size;
            case "log.timestamp": return show(log.searchForTimestamp(n[1], (int) n[2], n[3]));
            case "log.largest": return show(log.largestTimestampAfter((int) n[1]));
            case "log.batches":
                int count = 0;
                for (var ignored : log.batches())
                    count++;
                return count + "";
            case "log.truncate_to": return log.truncateTo((int) n[1]) + " " + log.sizeInBytes();
            case "log.close": log.close(); return "closed";
            default: throw new AssertionError(words[0]);
        }
    }

    static String show(OffsetPosition entry) {
        return entry.offset() + " " + entry.position();
    }

    static String show(TimestampOffset entry) {
        return entry.timestamp() + " " + entry.offset();
    }

    static String show(FileRecords.TimestampAndOffset found) {
        if (found == null)
            return "none";
        return found.timestamp + " " + found.offset + " " + found.leaderEpoch.orElse(-1);
    }
}
