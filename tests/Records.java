import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.*;
import java.util.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.*;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.utils.*;
import org.apache.kafka.common.requests.ProduceResponse.RecordError;
import org.apache.kafka.storage.internals.log.*;

public class Records {
    static HexFormat hex = HexFormat.of();

    static byte[] bytes(String word) {
        return word.equals("-") ? null : hex.parseHex(word.substring(1));
    }

    static String text(MemoryRecords records) {
        ByteBuffer buffer = records.buffer();
        byte[] found = new byte[buffer.remaining()];
        buffer.get(found);
        return "x" + hex.formatHex(found);
    }

    static Compression compression(String name, String level) {
        if (level.equals("-")) return Compression.of(CompressionType.forName(name)).build();
        int number = Integer.parseInt(level);
        return switch (name) {
            case "gzip" -> Compression.gzip().level(number).build();
            case "lz4" -> Compression.lz4().level(number).build();
            default -> Compression.zstd().level(number).build();
        };
    }

    static Map<String, String> options(String[] words) {
        Map<String, String> found = new HashMap<>();
        for (String word : words)
            if (word.contains("=")) found.put(word.split("=")[0], word.split("=")[1]);
        return found;
    }

    static long number(Map<String, String> options, String name) {
        return Long.parseLong(options.get(name));
    }

    static TimestampType type(String name) {
        return name.equals("LogAppendTime") ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME;
    }

    static String build(String line) {
        String[] parts = line.split(";");
        Map<String, String> o = options(parts[0].split(" "));
        ByteBufferOutputStream out = new ByteBufferOutputStream(64);
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(out,
            (byte) number(o, "magic"), compression(o.get("codec"), o.get("level")), type(o.get("type")),
            number(o, "base_offset"), number(o, "append_time"), number(o, "producer_id"),
            (short) number(o, "producer_epoch"), (int) number(o, "base_sequence"),
            o.get("transactional").equals("1"), o.get("control").equals("1"),
            (int) number(o, "leader_epoch"), Integer.MAX_VALUE, number(o, "delete_horizon"));
        for (int i = 1; i < parts.length; i++) {
            String[] words = parts[i].trim().split(" ");
            long offset = Long.parseLong(words[1]), time = Long.parseLong(words[2]);
            if (words[0].equals("record")) {
                Header[] headers = new Header[(words.length - 5) / 2];
                for (int h = 0; h < headers.length; h++)
                    headers[h] = new RecordHeader(new String(bytes(words[5 + 2 * h]),
                        java.nio.charset.StandardCharsets.UTF_8), bytes(words[6 + 2 * h]));
                builder.appendWithOffset(offset, time, bytes(words[3]), bytes(words[4]), headers);
            } else if (words[0].equals("marker")) {
                ControlRecordType kind = words[3].equals("1") ? ControlRecordType.COMMIT : ControlRecordType.ABORT;
                builder.appendEndTxnMarker(time, new EndTransactionMarker(kind, Integer.parseInt(words[4])));
            } else if (words[0].equals("leader")) {
                builder.appendLeaderChangeMessage(time, new LeaderChangeMessage().setVersion((short) 0)
                    .setLeaderId(7).setVoters(List.of(new LeaderChangeMessage.Voter().setVoterId(7)))
                    .setGrantingVoters(List.of(new LeaderChangeMessage.Voter().setVoterId(7))));
            } else if (words[0].equals("snapshot_header")) {
                builder.appendSnapshotHeaderMessage(time,
                    new SnapshotHeaderRecord().setVersion((short) 0).setLastContainedLogTimestamp(99));
            } else if (words[0].equals("snapshot_footer")) {
                builder.appendSnapshotFooterMessage(time, new SnapshotFooterRecord().setVersion((short) 0));
            } else if (words[0].equals("last_offset")) {
                builder.overrideLastOffset(offset);
            }
        }
        MemoryRecords built = builder.build();
        MemoryRecordsBuilder.RecordsInfo info = builder.info();
        return "ok " + text(built) + " " + info.maxTimestamp + " " + info.shallowOffsetOfMaxTimestamp;
    }

    static String validate(String line) {
        Map<String, String> o = options(line.split(" "));
        MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(bytes(o.get("records"))));
        long now = number(o, "now");
        Time time = (Time) Proxy.newProxyInstance(Records.class.getClassLoader(), new Class<?>[]{Time.class},
            (proxy, method, arguments) -> method.getReturnType() == long.class ? (Object) now : null);
        LogValidator.MetricsRecorder metrics = (LogValidator.MetricsRecorder) Proxy.newProxyInstance(
            Records.class.getClassLoader(), new Class<?>[]{LogValidator.MetricsRecorder.class},
            (proxy, method, arguments) -> null);
        CompressionType source = CompressionType.NONE;
        for (RecordBatch batch : records.batches()) {
            batch.ensureValid();
            if (batch.compressionType() != CompressionType.NONE) source = batch.compressionType();
        }
        Compression target = o.get("target").equals("producer") ? Compression.of(source).build()
            : compression(o.get("target"), o.get("level"));
        PrimitiveRef.LongRef offset = PrimitiveRef.ofLong(number(o, "offset"));
        LogValidator.ValidationResult result = new LogValidator(records, new TopicPartition("orders", 0), time,
            source, target, o.get("compacted").equals("1"), (byte) number(o, "magic"), type(o.get("type")),
            number(o, "before"), number(o, "after"), (int) number(o, "epoch"),
            AppendOrigin.valueOf(o.get("origin"))
        ).validateMessagesAndAssignOffsets(offset, metrics, BufferSupplier.NO_CACHING);
        return "ok " + text(result.validatedRecords()) + " " + result.maxTimestampMs() + " " + offset.value
            + " " + result.messageSizeMaybeChanged();
    }

    static String read(String line) {
        Map<String, String> o = options(line.split(" "));
        StringBuilder out = new StringBuilder("ok");
        for (RecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(bytes(o.get("records")))).batches()) {
            batch.ensureValid();
            for (org.apache.kafka.common.record.Record record : batch) {
                record.key();
                record.value();
                record.headers();
                out.append(" " + record.offset() + "," + record.timestamp() + "," + record.sequence() + ","
                    + record.sizeInBytes());
            }
        }
        return out.toString();
    }

    public static void main(String[] args) throws Exception {
        StringBuilder answers = new StringBuilder();
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String answer;
            try {
                String verb = line.split(" ")[0];
                answer = verb.equals("build") ? build(line) : verb.equals("read") ? read(line) : validate(line);
            } catch (RecordValidationException e) {
                StringBuilder indexes = new StringBuilder();
                for (RecordError error : e.recordErrors()) indexes.append(" " + error.batchIndex);
                answer = "error " + e.invalidException().getClass().getSimpleName() + indexes;
            } catch (Throwable e) {
                answer = "error " + e.getClass().getSimpleName();
            }
            answers.append(answer).append("\n");
        }
        Files.writeString(Path.of(args[1]), answers);
    }
}
