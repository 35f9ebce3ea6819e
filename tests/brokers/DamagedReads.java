import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Seeks to each offset of partition 0 of a topic ("BOOTSTRAP TOPIC END"), with and without check.crcs, and prints a line each:
 * "check.crcs offset gets offset", or "check.crcs offset fails position exception".
 */
public final class DamagedReads {
    public static void main(String[] a) {
        TopicPartition where = new TopicPartition(a[1], 0);
        for (String crcs : new String[] {"true", "false"}) {
            Properties p = new Properties();
            p.put("bootstrap.servers", a[0]);
            p.put("key.deserializer", ByteArrayDeserializer.class.getName());
            p.put("value.deserializer", ByteArrayDeserializer.class.getName());
            p.put("enable.auto.commit", "false");
            p.put("auto.offset.reset", "none");
            p.put("max.poll.records", "1");
            p.put("check.crcs", crcs);
            try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p)) {
                consumer.assign(List.of(where));
                for (long offset = 0; offset < Long.parseLong(a[2]); offset++) {
                    consumer.seek(where, offset);
                    System.out.println(crcs + " " + offset + " " + ask(consumer, where));
                }
            }
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static String ask(KafkaConsumer<byte[], byte[]> consumer, TopicPartition where) {
        long deadline = System.currentTimeMillis() + 20_000;
        try {
            while (System.currentTimeMillis() < deadline)
                for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofMillis(200))) return "gets " + r.offset();
        } catch (RuntimeException e) {
            return "fails " + consumer.position(where) + " " + e;
        }
        return "waits";
    }
}
