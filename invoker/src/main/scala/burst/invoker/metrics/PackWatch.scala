package burst.invoker.metrics

import burst.node.MonotonicTime
import burst.node.metrics.Seconds
import burst.protocol.{Failure, FailureKind, Operation, PackStart, Traffic}
import java.util.concurrent.atomic.AtomicReference

/** One pack's progress in the metrics. The pack's actor reports it, and the invoker reports its end if that
  * actor breaks; repeated reports have no effect.
  */
final class PackWatch private[metrics] (metrics: InvokerMetrics, supply: PackStart, workers: Int):
  import PackWatch.Stage

  private val began = MonotonicTime.now()
  private val stage = AtomicReference(Stage.Starting)
  metrics.starting.inc()
  metrics.busySlots.inc(workers)

  /** How it came up, which may differ from how it began. */
  def ready(start: PackStart): Unit = if stage.compareAndSet(Stage.Starting, Stage.Running) then
    metrics.starting.dec()
    metrics.running.inc()
    metrics.succeeded(start).inc()
    metrics.durations(start).observe(Seconds.since(began))

  /** The messages that a flare on it has sent over a backend of this kind. */
  def sent(backend: String, traffic: Traffic): Unit = metrics.sent(backend, traffic)

  def ended(error: Option[Failure]): Unit = stage.getAndSet(Stage.Ended) match
    case Stage.Starting =>
      metrics.starting.dec()
      metrics.busySlots.dec(workers)
      (if error.exists(PackWatch.isOfStart) then metrics.failed else metrics.aborted) (supply).inc()
    case Stage.Running =>
      metrics.running.dec()
      metrics.busySlots.dec(workers)
    case Stage.Ended => ()

private object PackWatch:
  private enum Stage:
    case Starting, Running, Ended

  /** Whether the start itself has failed; otherwise it was cancelled. */
  private def isOfStart(failure: Failure): Boolean =
    failure.kind == FailureKind.StartFailed || failure.operation.exists(Operation.StartSteps) ||
      failure.kind == FailureKind.Internal
