import java.util.*;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.acl.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.*;
import org.apache.kafka.common.resource.*;

/** Changes a cluster in rounds; after each, prints what AdminClient says of it, and when. */
public class ClusterTruth {
    static Admin admin;

    static void say(Object... parts) {
        StringJoiner line = new StringJoiner("\t");
        for (Object part : parts) line.add(String.valueOf(part));
        System.out.println(line);
    }

    static ConfigResource topic(String name) { return new ConfigResource(ConfigResource.Type.TOPIC, name); }
    static ConfigResource broker(String id) { return new ConfigResource(ConfigResource.Type.BROKER, id); }

    static void config(ConfigResource resource, String name, String value) throws Exception {
        AlterConfigOp.OpType type = value == null ? AlterConfigOp.OpType.DELETE : AlterConfigOp.OpType.SET;
        AlterConfigOp op = new AlterConfigOp(new ConfigEntry(name, value), type);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(op))).all().get();
    }

    static void quota(Map<String, String> entity, String name, Double value) throws Exception {
        ClientQuotaAlteration.Op op = new ClientQuotaAlteration.Op(name, value);
        admin.alterClientQuotas(List.of(new ClientQuotaAlteration(new ClientQuotaEntity(entity), List.of(op)))).all().get();
    }

    static AclBinding acl(PatternType pattern, String name, String user, AclOperation operation, AclPermissionType type) {
        return new AclBinding(
            new ResourcePattern(ResourceType.TOPIC, name, pattern),
            new AccessControlEntry("User:" + user, "*", operation, type));
    }

    static void scram(String user, ScramMechanism mechanism, int iterations) throws Exception {
        UserScramCredentialAlteration change = iterations == 0
            ? new UserScramCredentialDeletion(user, mechanism)
            : new UserScramCredentialUpsertion(user, new ScramCredentialInfo(mechanism, iterations), "secret of " + user);
        admin.alterUserScramCredentials(List.of(change)).all().get();
    }

    static Map<String, String> of(String type, String name) {
        Map<String, String> entity = new HashMap<>();
        entity.put(type, name);
        return entity;
    }

    static void change(int round) throws Exception {
        if (round == 0) {
            admin.createTopics(List.of(
                new NewTopic("orders", 3, (short) 1).configs(Map.of("retention.ms", "86400000")),
                new NewTopic("gone", 2, (short) 1).configs(Map.of("cleanup.policy", "compact")))).all().get();
            config(broker(""), "message.max.bytes", "1100000");
            config(broker("1"), "log.cleaner.threads", "2");
            admin.createAcls(List.of(
                acl(PatternType.LITERAL, "orders", "alice", AclOperation.READ, AclPermissionType.ALLOW),
                acl(PatternType.PREFIXED, "pay", "bob", AclOperation.ALL, AclPermissionType.DENY))).all().get();
            quota(of("user", "alice"), "producer_byte_rate", 1024.0);
            quota(of("user", null), "consumer_byte_rate", 99.0);
            quota(of("ip", "127.0.0.9"), "connection_creation_rate", 7.0);
            scram("alice", ScramMechanism.SCRAM_SHA_256, 4096); //@ 3.5..
            scram("bob", ScramMechanism.SCRAM_SHA_512, 5000); //@ 3.5..
        } else if (round == 1) {
            config(topic("orders"), "retention.ms", "1000000");
            config(topic("orders"), "segment.ms", "777777");
            config(broker("1"), "log.cleaner.threads", null);
            admin.deleteTopics(List.of("gone")).all().get();
            admin.createPartitions(Map.of("orders", NewPartitions.increaseTo(5))).all().get();
            admin.deleteAcls(List.of(acl(PatternType.PREFIXED, "pay", "bob", AclOperation.ALL, AclPermissionType.DENY).toFilter())).all().get();
            Map<String, String> both = of("user", "alice");
            both.put("client-id", "x");
            quota(both, "request_percentage", 12.5);
            quota(of("user", null), "consumer_byte_rate", null);
            scram("alice", ScramMechanism.SCRAM_SHA_256, 8192); //@ 3.5..
            scram("bob", ScramMechanism.SCRAM_SHA_512, 0); //@ 3.5..
        } else {
            admin.createTopics(List.of(new NewTopic("gone", 1, (short) 1))).all().get();
            config(topic("orders"), "retention.ms", null);
            config(broker("1"), "listener.name.plaintext.ssl.keystore.password", "secret of the listener");
        }
    }

    static void tell() throws Exception {
        List<String> names = new ArrayList<>(admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get());
        List<ConfigResource> resources = new ArrayList<>(List.of(broker(""), broker("1")));
        for (TopicDescription each : admin.describeTopics(names).allTopicNames().get().values()) {
            say("topic", each.name(), each.topicId());
            resources.add(topic(each.name()));
            for (TopicPartitionInfo p : each.partitions())
                say("partition", each.name(), p.partition(), p.leader().id(), ids(p.replicas()), ids(p.isr()));
        }
        for (Map.Entry<ConfigResource, Config> each : admin.describeConfigs(resources).all().get().entrySet()) {
            ConfigResource resource = each.getKey();
            ConfigEntry.ConfigSource own = resource.type() == ConfigResource.Type.TOPIC
                ? ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG
                : resource.name().isEmpty()
                    ? ConfigEntry.ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
                    : ConfigEntry.ConfigSource.DYNAMIC_BROKER_CONFIG;
            for (ConfigEntry entry : each.getValue().entries())
                if (entry.source() == own)
                    say("config", resource.type().toString().toLowerCase(), resource.name(), entry.name(), entry.isSensitive() ? "[hidden]" : entry.value());
        }
        for (AclBinding each : admin.describeAcls(AclBindingFilter.ANY).values().get())
            say("acl", each.pattern().resourceType(), each.pattern().name(), each.pattern().patternType(),
                each.entry().principal(), each.entry().host(), each.entry().operation(), each.entry().permissionType());
        for (Map.Entry<ClientQuotaEntity, Map<String, Double>> each : admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get().entrySet())
            for (Map.Entry<String, Double> own : each.getValue().entrySet()) {
                Map<String, String> entity = each.getKey().entries();
                List<String> parts = new ArrayList<>();
                for (String type : List.of("user", "client-id", "ip"))
                    parts.add(!entity.containsKey(type) ? "-" : entity.get(type) == null ? "<default>" : entity.get(type));
                say("quota", String.join("\t", parts), own.getKey(), own.getValue());
            }
        for (UserScramCredentialsDescription each : admin.describeUserScramCredentials().all().get().values()) //@ 3.5..
            for (ScramCredentialInfo own : each.credentialInfos()) //@ 3.5..
                say("scram", each.name(), own.mechanism(), own.iterations()); //@ 3.5..
        for (Map.Entry<String, FinalizedVersionRange> each : admin.describeFeatures().featureMetadata().get().finalizedFeatures().entrySet())
            say("feature", each.getKey(), each.getValue().maxVersionLevel());
        DescribeClusterResult cluster = admin.describeCluster();
        for (Node each : cluster.nodes().get()) say("broker", each.id(), each.host(), each.port(), each.rack());
        QuorumInfo quorum = admin.describeMetadataQuorum().quorumInfo().get();
        for (QuorumInfo.ReplicaState each : quorum.voters())
            say("voter", each.replicaId(), each.replicaId() == quorum.leaderId());
    }

    static String ids(List<Node> nodes) {
        StringJoiner ids = new StringJoiner(",");
        for (Node each : nodes) ids.add(String.valueOf(each.id()));
        return ids.toString();
    }

    public static void main(String[] args) throws Exception {
        admin = Admin.create(Map.of("bootstrap.servers", args[0]));
        if (args.length > 1) {
            tell();
            admin.close();
            return;
        }
        for (int round = 0; round < 3; round++) {
            change(round);
            TimeUnit.MILLISECONDS.sleep(1500);
            tell();
            say("at", System.currentTimeMillis());
            TimeUnit.MILLISECONDS.sleep(100);
        }
        admin.close();
    }
}
