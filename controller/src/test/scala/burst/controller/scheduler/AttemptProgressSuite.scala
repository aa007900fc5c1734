package burst.controller.scheduler

import burst.controller.flare.WorkerState
import burst.controller.placement.Plan
import burst.protocol.{Failure, FailureKind, FlareId, InvokerId, PackEvent, PackId, PackReport, Timestamp}
import munit.FunSuite
import scala.concurrent.duration.DurationInt

/** How reports change an attempt, wherever they come from. */
class AttemptProgressSuite extends FunSuite:
  private val invoker = InvokerId("a")
  private val begun = AttemptProgress.begin(Plan.of(Vector(invoker -> 2), 2), outputLimit = 1000)

  private def absorb(
      progress: AttemptProgress,
      events: Vector[PackEvent],
      cause: Option[Cause] = None
  ): Absorbed =
    progress.absorb(PackReport(FlareId.random(), 1, PackId(0), invoker, None, events), cause)

  test("a worker's phases are kept up to their limit across all reports"):
    val many = Vector.fill(AttemptProgress.Marks - 1)(PackEvent.Phase(0, "x", Timestamp.ofMicros(1)))
    val first = absorb(begun, many)
    assertEquals(first.phases.length, AttemptProgress.Marks - 1)
    val second = absorb(first.progress, many :+ PackEvent.Phase(1, "y", Timestamp.ofMicros(1)))
    assertEquals(second.phases.map(_.worker), Vector(0, 1))
    assertEquals(absorb(second.progress, many).phases.length, 0)

  test("the failures of lost packs report why their invoker was lost"):
    val lost = begun.invokerLost(invoker, InvokerLoss.Silent(30.seconds)).failures
    assertEquals(lost.map(_.message), Vector("invoker a was lost: it was not heard of for 30 seconds"))

  test("a worker's cancellation counts if its flare is cancelled, and is an error otherwise"):
    val claim = Failure(FailureKind.Cancelled, "the flare was cancelled", Some(0))
    def told(cause: Option[Cause]) =
      absorb(begun, Vector(PackEvent.WorkerFailed(0, claim, Timestamp.ofMicros(1))), cause)
    def ended(cause: Option[Cause]) =
      val worker = told(cause).progress.workers.head
      (worker.state, worker.error.map(_.kind))
    val cancelled = Some(FlareEnding.cancelled(CancelledBy.User, isGroup = false))
    assertEquals(ended(cancelled), (WorkerState.Cancelled, Some(FailureKind.Cancelled)))
    assertEquals(ended(None), (WorkerState.Failed, Some(FailureKind.Error)))
    assert(told(None).failures.forall(_.kind == FailureKind.Error), told(None).failures)

  test("a worker whose output is refused in its pack's last report does not count as silent"):
    val events = Vector(
      PackEvent.Output(0, "1" * 900),
      PackEvent.WorkerSucceeded(1, "1", Timestamp.ofMicros(1)),
      PackEvent.WorkerSucceeded(0, "1" * 900, Timestamp.ofMicros(1)),
      PackEvent.PackEnded(reusable = true, None, Timestamp.ofMicros(2))
    )
    val told = absorb(begun, events)
    assertEquals(told.failures.map(_.kind), Vector(FailureKind.Error))
    assert(told.failures.head.message.contains("more than 1000 bytes together"), told.failures)
    assertEquals((told.progress.errors, told.ended), (Map.empty[PackId, Failure], Vector(PackId(0))))
