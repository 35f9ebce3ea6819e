import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.*;

/** A share group with three deliveries: prints "offset count acknowledgement" of each delivery. */
public class Deliver {
    public static void main(String[] args) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", args[0]);
        Properties share = new Properties();
        share.putAll(p);
        share.put("group.id", "jobs");
        share.put("share.acknowledgement.mode", "explicit");
        try (Admin admin = Admin.create(p);
             KafkaProducer<byte[], byte[]> producer =
                 new KafkaProducer<>(p, new ByteArraySerializer(), new ByteArraySerializer());
             KafkaShareConsumer<byte[], byte[]> consumer =
                 new KafkaShareConsumer<>(share, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            admin.createTopics(List.of(new NewTopic("work", 1, (short) 1))).all().get();
            List<AlterConfigOp> ops = new ArrayList<>();
            Map.of("share.auto.offset.reset", "earliest", "share.delivery.count.limit", "3").forEach(
                (name, value) -> ops.add(new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET)));
            admin.incrementalAlterConfigs(
                Map.of(new ConfigResource(ConfigResource.Type.GROUP, "jobs"), ops)).all().get();
            consumer.subscribe(List.of("work"));
            send(producer, 6);
            deliver(consumer, 6 + 2 + 2);   // 4 and 5 three times, then archived
            send(producer, 2);
            deliver(consumer, 2 + 2);       // 6 and 7 twice: one delivery is left
        }
    }

    static void send(KafkaProducer<byte[], byte[]> producer, int count) throws Exception {
        for (int i = 0; i < count; i++) producer.send(new ProducerRecord<>("work", new byte[] {(byte) i})).get();
    }

    static void deliver(KafkaShareConsumer<byte[], byte[]> consumer, int count) {
        long end = System.currentTimeMillis() + 60_000;
        while (count > 0 && System.currentTimeMillis() < end) {
            for (ConsumerRecord<byte[], byte[]> each : consumer.poll(Duration.ofMillis(200))) {
                AcknowledgeType how = each.offset() < 2 ? AcknowledgeType.ACCEPT
                    : each.offset() < 4 ? AcknowledgeType.REJECT : AcknowledgeType.RELEASE;
                consumer.acknowledge(each, how);
                System.out.println(each.offset() + " " + each.deliveryCount().get() + " " + how);
                count--;
            }
            consumer.commitSync(Duration.ofSeconds(5));
        }
    }
}
