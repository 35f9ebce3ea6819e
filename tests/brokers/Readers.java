import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Makes topics ("create BOOTSTRAP TOPIC:NAME=VALUE;NAME=VALUE ..."), and reads all there is of partition 0 of topics in both
 * isolations ("read BOOTSTRAP TOPIC ..."): "begin" and "end" offsets first, then a line a record.
 */
public final class Readers {
    public static void main(String[] a) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", a[1]);
        List<String> rest = Arrays.asList(a).subList(2, a.length);
        if (a[0].equals("create")) create(p, rest);
        else for (String isolation : new String[] {"read_uncommitted", "read_committed"}) read(p, isolation, rest);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void create(Properties p, List<String> topics) throws Exception {
        List<NewTopic> made = new ArrayList<>();
        for (String topic : topics) {
            Map<String, String> config = new HashMap<>();
            for (String pair : topic.split(":")[1].split(";")) config.put(pair.split("=")[0], pair.split("=")[1]);
            String[] name = topic.split(":")[0].split("/");
            int partitions = name.length == 1 ? 1 : Integer.parseInt(name[1]);
            made.add(new NewTopic(name[0], partitions, (short) 1).configs(config));
        }
        try (AdminClient admin = AdminClient.create(p)) {
            admin.createTopics(made).all().get();
        }
    }

    static void read(Properties p, String isolation, List<String> topics) {
        p.put("isolation.level", isolation);
        p.put("key.deserializer", ByteArrayDeserializer.class.getName());
        p.put("value.deserializer", ByteArrayDeserializer.class.getName());
        p.put("enable.auto.commit", "false");
        p.put("auto.offset.reset", "none");
        p.put("check.crcs", "true");
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p)) {
            List<TopicPartition> all = new ArrayList<>();
            for (String topic : topics) all.add(new TopicPartition(topic, 0));
            consumer.assign(all);
            Map<TopicPartition, Long> begin = consumer.beginningOffsets(all), end = consumer.endOffsets(all);
            for (TopicPartition t : all) {
                System.out.println(isolation + " " + t.topic() + " begin " + begin.get(t) + " end " + end.get(t));
                consumer.seek(t, begin.get(t));
            }
            long deadline = System.currentTimeMillis() + 60_000;
            while (System.currentTimeMillis() < deadline) {
                for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofMillis(200))) {
                    StringBuilder s = new StringBuilder(isolation + " " + r.topic() + " " + r.offset() + " " + r.timestamp() + " " + hex(r.key()) + " " + hex(r.value()));
                    for (Header h : r.headers()) s.append(' ').append(h.key()).append('=').append(hex(h.value()));
                    System.out.println(s);
                }
                boolean done = true;
                for (TopicPartition t : all) done &= consumer.position(t) >= end.get(t);
                if (done) return;
            }
            for (TopicPartition t : all)
                if (consumer.position(t) < end.get(t)) System.out.println(isolation + " " + t.topic() + " stuck " + consumer.position(t));
        }
    }

    static String hex(byte[] bytes) {
        if (bytes == null) return "-";
        StringBuilder s = new StringBuilder("x");
        for (byte b : bytes) s.append(String.format("%02x", b));
        return s.toString();
    }
}
