import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Makes a topic of one partition ("make BOOTSTRAP TOPIC"), and commits a transaction with one record for each transactional id
 * ("commit BOOTSTRAP TOPIC ID VALUE ID VALUE ...").
 */
public final class Transact {
    public static void main(String[] a) throws Exception {
        if (a[0].equals("make")) {
            try (AdminClient admin = AdminClient.create(Map.of("bootstrap.servers", (Object) a[1]))) {
                admin.createTopics(List.of(new NewTopic(a[2], 1, (short) 1))).all().get();
            }
        }
        for (int i = 3; i < a.length; i += 2) commit(a[1], a[2], a[i], a[i + 1]);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void commit(String bootstrap, String topic, String id, String value) throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", bootstrap);
        p.put("transactional.id", id);
        p.put("key.serializer", StringSerializer.class.getName());
        p.put("value.serializer", StringSerializer.class.getName());
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(p)) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, value)).get();
            producer.commitTransaction();
        }
    }
}
