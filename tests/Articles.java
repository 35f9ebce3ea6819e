import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.util.Map;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.SimpleRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogSegment;

/** Facts of docs/from-the-articles.md, from Kafka's classes: one line each. */
public class Articles {
    public static void main(String[] args) throws Exception {
        for (String name : new String[] {"LEADER_AND_ISR", "STOP_REPLICA", "UPDATE_METADATA", "CONTROLLED_SHUTDOWN"}) {
            System.out.println(name + " " + (!ApiKeys.valueOf(name).allVersions().isEmpty()));
        }
        File dir = Files.createTempDirectory("articles").toFile();
        LogConfig config = new LogConfig(Map.of("index.interval.bytes", 1));
        LogSegment segment = LogSegment.open(dir, 0, config, Time.SYSTEM, 1 << 20, false);
        segment.append(2, 1002, 2, batches(0)); //@ ..3.9.1
        segment.append(5, 1005, 5, batches(3)); //@ ..3.9.1
        segment.append(2, batches(0)); //@ 3.9.1..
        segment.append(5, batches(3)); //@ 3.9.1..
        System.out.println("entries " + segment.offsetIndex().entries());
    }

    /** Three batches of one record. */
    static MemoryRecords batches(long first) {
        ByteBuffer all = ByteBuffer.allocate(1 << 12);
        for (long at = first; at < first + 3; at++) {
            SimpleRecord record = new SimpleRecord(1000 + at, "v".getBytes());
            all.put(MemoryRecords.withRecords(at, Compression.NONE, record).buffer());
        }
        all.flip();
        return MemoryRecords.readableRecords(all);
    }
}
