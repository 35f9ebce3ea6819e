"""The periodic tasks of a log manager, on its scheduler.

Kafka: LogManager.startupWithConfigOverrides (4.2)
"""

from collections.abc import Callable

from workbench.config.broker_config import BrokerConfig
from workbench.runtime.scheduler import Scheduler, Task


def schedule_tasks(
    scheduler: Scheduler,
    config: BrokerConfig,
    *,
    retain: Callable[[], object],
    flush: Callable[[], object],
    checkpoint_recovery_points: Callable[[], object],
    checkpoint_log_start_offsets: Callable[[], object],
    checkpoint_high_watermarks: Callable[[], object],
) -> list[Task]:
    """Schedule the periodic tasks with Kafka's names, delays and periods; return them.

    All begin `log.initial.task.delay.ms` from now, except the high watermark checkpoint, at once:
    Kafka: ReplicaManager.startHighWatermarkCheckPointThread (4.2).
    """
    delay = config.log_initial_task_delay_ms
    periodic = (
        ("kafka-log-retention", retain, config.log_retention_check_interval_ms),
        ("kafka-log-flusher", flush, config.log_flush_scheduler_interval_ms),
        (
            "kafka-recovery-point-checkpoint",
            checkpoint_recovery_points,
            config.log_flush_offset_checkpoint_interval_ms,
        ),
        (
            "kafka-log-start-offset-checkpoint",
            checkpoint_log_start_offsets,
            config.log_flush_start_offset_checkpoint_interval_ms,
        ),
    )
    return [
        *(
            scheduler.schedule(name, _without_result(task), delay, period)
            for name, task, period in periodic
        ),
        scheduler.schedule(
            "highwatermark-checkpoint",
            _without_result(checkpoint_high_watermarks),
            0,
            config.replica_high_watermark_checkpoint_interval_ms,
        ),
    ]


class DeletionTask:
    """Deletes logs that are due, and schedules itself for the next one.

    Args:
        scheduler: the log manager's scheduler.
        delete_due: deletes due logs, and returns the ms until the next one is due.

    Kafka: LogManager.deleteLogs (4.2)
    """

    def __init__(self, scheduler: Scheduler, delete_due: Callable[[], int]) -> None:
        self._scheduler = scheduler
        self._delete_due = delete_due
        self._task: Task | None = None
        self._is_cancelled = False

    def start(self, delay_ms: int) -> None:
        """Run for the first time after ``delay_ms``."""
        self._task = self._scheduler.schedule("kafka-delete-logs", self._run, delay_ms)

    def cancel(self) -> None:
        """Stop running."""
        self._is_cancelled = True
        if self._task is not None:
            self._task.cancel()

    def _run(self) -> None:
        delay = 1
        try:
            delay = self._delete_due()
        finally:
            if not self._is_cancelled:
                self.start(delay)


def _without_result(task: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        task()

    return run
