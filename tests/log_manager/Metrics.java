import org.apache.kafka.metadata.BrokerState;
import org.apache.kafka.server.metrics.KafkaYammerMetrics;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/** The states of a broker, and the rate of a topic whose first refusal comes late. */
public class Metrics {
    public static void main(String[] args) throws Exception {
        for (BrokerState state : BrokerState.values()) {
            System.out.println(state + " " + state.value());
        }
        BrokerTopicStats stats = new BrokerTopicStats();
        stats.topicStats("orders");
        Thread.sleep(1000);
        System.out.println("meters " + meters());
        stats.topicStats("orders").bytesRejectedRate().mark(1000);
        System.out.println("meters " + meters());
        Thread.sleep(500);
        System.out.println("rate " + stats.topicStats("orders").bytesRejectedRate().meanRate());
        System.exit(0);
    }

    static long meters() {
        return KafkaYammerMetrics.defaultRegistry().allMetrics().keySet().stream()
            .filter(name -> name.getMBeanName().contains("name=BytesRejectedPerSec,topic=orders"))
            .count();
    }
}
