"""Configurations in server.properties that the storage engine does not use, and which can change.

Kafka: AbstractKafkaConfig, DynamicBrokerConfig.AllDynamicConfigs (4.2)
"""

from typing import Final, NamedTuple


class OtherConfig(NamedTuple):
    """A configuration of a broker that the engine does not use.

    Attributes:
        kind: Kafka's type of its values.
        default: as a broker shows it; None: it has none.
    """

    kind: str
    default: str | None


_OTHERS: Final = """
    add.partitions.to.txn.retry.backoff.max.ms int 100
    add.partitions.to.txn.retry.backoff.ms int 20
    advertised.listeners list
    alter.config.policy.class.name class
    alter.log.dirs.replication.quota.window.num int 11
    alter.log.dirs.replication.quota.window.size.seconds int 1
    authorizer.class.name string ""
    auto.leader.rebalance.enable boolean true
    broker.heartbeat.interval.ms int 2000
    broker.id int -1
    broker.rack string
    broker.session.timeout.ms int 9000
    client.quota.callback.class class
    config.providers list ""
    connection.failed.authentication.delay.ms int 100
    connections.max.idle.ms long 600000
    connections.max.reauth.ms long 0
    controlled.shutdown.enable boolean true
    controller.listener.names list
    controller.quorum.append.linger.ms int 25
    controller.quorum.auto.join.enable boolean false
    controller.quorum.bootstrap.servers list ""
    controller.quorum.election.backoff.max.ms int 1000
    controller.quorum.election.timeout.ms int 1000
    controller.quorum.fetch.timeout.ms int 2000
    controller.quorum.request.timeout.ms int 2000
    controller.quorum.retry.backoff.ms int 20
    controller.quorum.voters list ""
    controller.quota.window.num int 11
    controller.quota.window.size.seconds int 1
    controller.socket.timeout.ms int 30000
    create.topic.policy.class.name class
    default.replication.factor int 1
    delegation.token.expiry.check.interval.ms long 3600000
    delegation.token.expiry.time.ms long 86400000
    delegation.token.max.lifetime.ms long 604800000
    delegation.token.secret.key password
    delete.records.purgatory.purge.interval.requests int 1
    delete.topic.enable boolean true
    early.start.listeners list
    fetch.max.bytes int 57671680
    fetch.purgatory.purge.interval.requests int 1000
    group.consumer.assignors list uniform,range
    group.consumer.max.heartbeat.interval.ms int 15000
    group.consumer.max.session.timeout.ms int 60000
    group.consumer.migration.policy string bidirectional
    group.consumer.min.heartbeat.interval.ms int 5000
    group.consumer.min.session.timeout.ms int 45000
    group.coordinator.append.linger.ms int -1
    group.coordinator.rebalance.protocols list classic,consumer,streams
    group.coordinator.threads int 4
    group.share.assignors list simple
    group.share.delivery.count.limit int 5
    group.share.heartbeat.interval.ms int 5000
    group.share.max.heartbeat.interval.ms int 15000
    group.share.max.record.lock.duration.ms int 60000
    group.share.max.session.timeout.ms int 60000
    group.share.max.share.sessions int 2000
    group.share.max.size int 200
    group.share.min.heartbeat.interval.ms int 5000
    group.share.min.record.lock.duration.ms int 15000
    group.share.min.session.timeout.ms int 45000
    group.share.partition.max.record.locks int 2000
    group.share.record.lock.duration.ms int 30000
    group.share.session.timeout.ms int 45000
    group.streams.heartbeat.interval.ms int 5000
    group.streams.initial.rebalance.delay.ms int 3000
    group.streams.max.heartbeat.interval.ms int 15000
    group.streams.max.session.timeout.ms int 60000
    group.streams.max.size int 2147483647
    group.streams.max.standby.replicas int 2
    group.streams.min.heartbeat.interval.ms int 5000
    group.streams.min.session.timeout.ms int 45000
    group.streams.num.standby.replicas int 0
    group.streams.session.timeout.ms int 45000
    initial.broker.registration.timeout.ms int 60000
    inter.broker.listener.name string
    kafka.metrics.polling.interval.secs int 10
    kafka.metrics.reporters list ""
    leader.imbalance.check.interval.seconds long 300
    listener.security.protocol.map string \
        SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT
    listeners list PLAINTEXT://:9092
    max.connection.creation.rate int 2147483647
    max.connections int 2147483647
    max.connections.per.ip int 2147483647
    max.connections.per.ip.overrides string ""
    max.incremental.fetch.session.cache.slots int 1000
    max.request.partition.size.limit int 2000
    metadata.log.max.record.bytes.between.snapshots long 20971520
    metadata.log.max.snapshot.interval.ms long 3600000
    metadata.log.segment.bytes int 1073741824
    metadata.log.segment.ms long 604800000
    metadata.max.idle.interval.ms int 500
    metadata.max.retention.bytes long 104857600
    metadata.max.retention.ms long 604800000
    metric.reporters list org.apache.kafka.common.metrics.JmxReporter
    metrics.num.samples int 2
    metrics.recording.level string INFO
    metrics.sample.window.ms long 30000
    node.id int
    num.io.threads int 8
    num.network.threads int 3
    num.replica.alter.log.dirs.threads int
    num.replica.fetchers int 1
    offsets.commit.timeout.ms int 5000
    offsets.load.buffer.size int 5242880
    offsets.topic.replication.factor short 3
    principal.builder.class class \
        org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder
    process.roles list
    producer.purgatory.purge.interval.requests int 1000
    queued.max.request.bytes long -1
    queued.max.requests int 500
    quota.window.num int 11
    quota.window.size.seconds int 1
    remote.fetch.max.wait.ms int 500
    remote.list.offsets.request.timeout.ms long 30000
    remote.log.index.file.cache.total.size.bytes long 1073741824
    remote.log.manager.copier.thread.pool.size int 10
    remote.log.manager.copy.max.bytes.per.second long 9223372036854775807
    remote.log.manager.copy.quota.window.num int 11
    remote.log.manager.copy.quota.window.size.seconds int 1
    remote.log.manager.expiration.thread.pool.size int 10
    remote.log.manager.fetch.max.bytes.per.second long 9223372036854775807
    remote.log.manager.fetch.quota.window.num int 11
    remote.log.manager.fetch.quota.window.size.seconds int 1
    remote.log.manager.follower.thread.pool.size int 2
    remote.log.manager.task.interval.ms long 30000
    remote.log.manager.thread.pool.size int 2
    remote.log.metadata.custom.metadata.max.bytes int 128
    remote.log.metadata.manager.class.name string \
        org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager
    remote.log.metadata.manager.class.path string
    remote.log.metadata.manager.impl.prefix string rlmm.config.
    remote.log.metadata.manager.listener.name string
    remote.log.reader.max.pending.tasks int 100
    remote.log.reader.threads int 10
    remote.log.storage.manager.class.name string
    remote.log.storage.manager.class.path string
    remote.log.storage.manager.impl.prefix string rsm.config.
    replica.fetch.backoff.ms int 1000
    replica.fetch.max.bytes int 1048576
    replica.fetch.min.bytes int 1
    replica.fetch.response.max.bytes int 10485760
    replica.fetch.wait.max.ms int 500
    replica.lag.time.max.ms long 30000
    replica.selector.class string
    replica.socket.receive.buffer.bytes int 65536
    replica.socket.timeout.ms int 30000
    replication.quota.window.num int 11
    replication.quota.window.size.seconds int 1
    request.timeout.ms int 30000
    sasl.client.callback.handler.class class
    sasl.enabled.mechanisms list GSSAPI
    sasl.jaas.config password
    sasl.kerberos.kinit.cmd string /usr/bin/kinit
    sasl.kerberos.min.time.before.relogin long 60000
    sasl.kerberos.principal.to.local.rules list DEFAULT
    sasl.kerberos.service.name string
    sasl.kerberos.ticket.renew.jitter double 0.05
    sasl.kerberos.ticket.renew.window.factor double 0.8
    sasl.login.callback.handler.class class
    sasl.login.class class
    sasl.login.connect.timeout.ms int
    sasl.login.read.timeout.ms int
    sasl.login.refresh.buffer.seconds short 300
    sasl.login.refresh.min.period.seconds short 60
    sasl.login.refresh.window.factor double 0.8
    sasl.login.refresh.window.jitter double 0.05
    sasl.login.retry.backoff.max.ms long 10000
    sasl.login.retry.backoff.ms long 100
    sasl.mechanism.controller.protocol string GSSAPI
    sasl.mechanism.inter.broker.protocol string GSSAPI
    sasl.oauthbearer.assertion.algorithm string RS256
    sasl.oauthbearer.assertion.claim.aud string
    sasl.oauthbearer.assertion.claim.exp.seconds int 300
    sasl.oauthbearer.assertion.claim.iss string
    sasl.oauthbearer.assertion.claim.jti.include boolean false
    sasl.oauthbearer.assertion.claim.nbf.seconds int 60
    sasl.oauthbearer.assertion.claim.sub string
    sasl.oauthbearer.assertion.file string
    sasl.oauthbearer.assertion.private.key.file string
    sasl.oauthbearer.assertion.private.key.passphrase password
    sasl.oauthbearer.assertion.template.file string
    sasl.oauthbearer.client.credentials.client.id string
    sasl.oauthbearer.client.credentials.client.secret password
    sasl.oauthbearer.clock.skew.seconds int 30
    sasl.oauthbearer.expected.audience list ""
    sasl.oauthbearer.expected.issuer string
    sasl.oauthbearer.jwks.endpoint.refresh.ms long 3600000
    sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms long 10000
    sasl.oauthbearer.jwks.endpoint.retry.backoff.ms long 100
    sasl.oauthbearer.jwks.endpoint.url string
    sasl.oauthbearer.jwt.retriever.class class \
        org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever
    sasl.oauthbearer.jwt.validator.class class \
        org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator
    sasl.oauthbearer.scope string
    sasl.oauthbearer.scope.claim.name string scope
    sasl.oauthbearer.sub.claim.name string sub
    sasl.oauthbearer.token.endpoint.url string
    sasl.server.callback.handler.class class
    sasl.server.max.receive.size int 524288
    security.inter.broker.protocol string PLAINTEXT
    security.providers string
    share.coordinator.append.linger.ms int -1
    share.coordinator.load.buffer.size int 5242880
    share.coordinator.snapshot.update.records.per.snapshot int 500
    share.coordinator.state.topic.compression.codec int 0
    share.coordinator.state.topic.min.isr short 2
    share.coordinator.state.topic.num.partitions int 50
    share.coordinator.state.topic.replication.factor short 3
    share.coordinator.state.topic.segment.bytes int 104857600
    share.coordinator.threads int 1
    share.coordinator.write.timeout.ms int 5000
    share.fetch.purgatory.purge.interval.requests int 1000
    socket.connection.setup.timeout.max.ms long 30000
    socket.connection.setup.timeout.ms long 10000
    socket.listen.backlog.size int 50
    socket.receive.buffer.bytes int 102400
    socket.request.max.bytes int 104857600
    socket.send.buffer.bytes int 102400
    ssl.allow.dn.changes boolean false
    ssl.allow.san.changes boolean false
    ssl.cipher.suites list ""
    ssl.client.auth string none
    ssl.enabled.protocols list TLSv1.2,TLSv1.3
    ssl.endpoint.identification.algorithm string https
    ssl.engine.factory.class class
    ssl.key.password password
    ssl.keymanager.algorithm string SunX509
    ssl.keystore.certificate.chain password
    ssl.keystore.key password
    ssl.keystore.location string
    ssl.keystore.password password
    ssl.keystore.type string JKS
    ssl.principal.mapping.rules string DEFAULT
    ssl.protocol string TLSv1.3
    ssl.provider string
    ssl.secure.random.implementation string
    ssl.trustmanager.algorithm string PKIX
    ssl.truststore.certificates password
    ssl.truststore.location string
    ssl.truststore.password password
    ssl.truststore.type string JKS
    telemetry.max.bytes int 1048576
    transaction.state.log.min.isr int 2
    transaction.state.log.replication.factor short 3
"""
"""Name, kind and default of each; `""` is an empty text."""

_HIDDEN: Final = """
    log.initial.task.delay.ms producer.id.expiration.check.interval.ms
    controller.performance.always.log.threshold.ms controller.performance.sample.period.ms
    group.consumer.regex.refresh.interval.ms group.share.enable
    group.share.initialize.retry.interval.ms group.share.persister.class.name
    internal.metadata.delete.delay.millis internal.metadata.log.segment.bytes
    internal.metadata.max.batch.size.in.bytes internal.metadata.max.fetch.size.in.bytes
    remote.log.manager.task.retry.backoff.max.ms remote.log.manager.task.retry.backoff.ms
    remote.log.manager.task.retry.jitter server.max.startup.time.ms
    share.coordinator.cold.partition.snapshot.interval.ms
    share.coordinator.state.topic.prune.interval.ms unclean.leader.election.interval.ms
    unstable.api.versions.enable unstable.feature.versions.enable
"""

_DYNAMIC: Final = """
    background.threads compression.gzip.level compression.lz4.level compression.type
    compression.zstd.level config.providers listener.security.protocol.map listeners
    log.cleaner.backoff.ms log.cleaner.dedupe.buffer.size log.cleaner.delete.retention.ms
    log.cleaner.io.buffer.load.factor log.cleaner.io.buffer.size
    log.cleaner.io.max.bytes.per.second log.cleaner.max.compaction.lag.ms
    log.cleaner.min.cleanable.ratio log.cleaner.min.compaction.lag.ms log.cleaner.threads
    log.cleanup.policy log.flush.interval.messages log.flush.interval.ms
    log.index.interval.bytes log.index.size.max.bytes log.local.retention.bytes
    log.local.retention.ms log.message.timestamp.after.max.ms
    log.message.timestamp.before.max.ms log.message.timestamp.type log.preallocate
    log.retention.bytes log.retention.ms log.roll.jitter.ms log.roll.ms log.segment.bytes
    log.segment.delete.delay.ms max.connection.creation.rate max.connections
    max.connections.per.ip max.connections.per.ip.overrides message.max.bytes metric.reporters
    min.insync.replicas num.io.threads num.network.threads num.recovery.threads.per.data.dir
    num.replica.fetchers principal.builder.class producer.id.expiration.ms
    remote.fetch.max.wait.ms remote.list.offsets.request.timeout.ms
    remote.log.index.file.cache.total.size.bytes remote.log.manager.copier.thread.pool.size
    remote.log.manager.copy.max.bytes.per.second remote.log.manager.expiration.thread.pool.size
    remote.log.manager.fetch.max.bytes.per.second remote.log.manager.follower.thread.pool.size
    remote.log.reader.threads sasl.enabled.mechanisms sasl.jaas.config sasl.kerberos.kinit.cmd
    sasl.kerberos.min.time.before.relogin sasl.kerberos.principal.to.local.rules
    sasl.kerberos.service.name sasl.kerberos.ticket.renew.jitter
    sasl.kerberos.ticket.renew.window.factor sasl.login.refresh.buffer.seconds
    sasl.login.refresh.min.period.seconds sasl.login.refresh.window.factor
    sasl.login.refresh.window.jitter sasl.mechanism.inter.broker.protocol ssl.cipher.suites
    ssl.client.auth ssl.enabled.protocols ssl.endpoint.identification.algorithm
    ssl.engine.factory.class ssl.key.password ssl.keymanager.algorithm
    ssl.keystore.certificate.chain ssl.keystore.key ssl.keystore.location ssl.keystore.password
    ssl.keystore.type ssl.protocol ssl.provider ssl.secure.random.implementation
    ssl.trustmanager.algorithm ssl.truststore.certificates ssl.truststore.location
    ssl.truststore.password ssl.truststore.type transaction.partition.verification.enable
    unclean.leader.election.enable
"""


def _config(line: str) -> tuple[str, OtherConfig]:
    name, kind, *default = line.strip().split(" ", 2)
    return name, OtherConfig(kind, default[0].strip(' "') if default else None)


OTHER_CONFIGS: Final = dict(map(_config, _OTHERS.strip().splitlines()))
"""Name → the configuration, of those that admin clients see."""

HIDDEN_NAMES: Final = frozenset(_HIDDEN.split())
"""Names that a broker takes and does not show."""

OTHER_BROKER_NAMES: Final = frozenset({*OTHER_CONFIGS, *HIDDEN_NAMES})

DYNAMIC_NAMES: Final = frozenset(_DYNAMIC.split())
"""Names that a running broker takes from the cluster's metadata."""

PLUGIN_PREFIXES: Final = ("listener.name.", "rlmm.config.", "rsm.config.")
"""Prefixes of names that are passed on to a listener or a plugin."""
