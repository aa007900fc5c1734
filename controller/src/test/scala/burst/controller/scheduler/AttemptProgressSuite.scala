package burst.controller.scheduler

import burst.protocol.{FlareId, InvokerId, PackEvent, PackReport}
import munit.FunSuite

/** What reports change, whoever wrote them. */
class AttemptProgressSuite extends FunSuite:
  private val invoker = InvokerId("a")
  private val begun = AttemptProgress.begin(Plan.of(Vector(invoker -> 2), 2), outputLimit = 1000)

  private def absorb(progress: AttemptProgress, events: Vector[PackEvent]): Absorbed =
    progress.absorb(PackReport(FlareId.random(), 1, 0, invoker, None, events), aborted = false)

  test("the phases of a worker are kept up to their limit, over all reports"):
    val many = Vector.fill(AttemptProgress.Marks - 1)(PackEvent.Phase(0, "x", 1))
    val first = absorb(begun, many)
    assertEquals(first.phases.length, AttemptProgress.Marks - 1)
    val second = absorb(first.progress, many :+ PackEvent.Phase(1, "y", 1))
    assertEquals(second.phases.map(_.worker), Vector(0, 1))
    assertEquals(absorb(second.progress, many).phases.length, 0)
