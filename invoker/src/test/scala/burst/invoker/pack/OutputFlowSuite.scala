package burst.invoker.pack

import burst.node.FairSemaphore
import burst.protocol.{PackEvent, PackReport, Timestamp}
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.DurationInt

class OutputFlowSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private given ExecutionContext = ExecutionContext.parasitic

  /** More output than passes without accounting. */
  private val large =
    Vector(PackEvent.WorkerSucceeded(0, "x" * (PackReport.FreeOutput.toInt + 1), Timestamp.ofMicros(1)))

  test("a namespace with many packs does not keep others waiting for all of them"):
    val memory = FairSemaphore(1)
    val first = OutputFlow(memory, "greedy")
    assert(first.admit(large).isCompleted)
    val greedy = Vector.fill(3)(OutputFlow(memory, "greedy")).map(flow => flow -> flow.admit(large))
    val other = OutputFlow(memory, "other").admit(large)
    first.stored()
    assert(greedy.head._2.isCompleted && !other.isCompleted)
    greedy.head._1.stored()
    assert(other.isCompleted && !greedy(1)._2.isCompleted)

  test("a pack's next outputs wait until its previous ones are stored"):
    val flow = OutputFlow(FairSemaphore(1L << 30), "one")
    assert(flow.admit(large).isCompleted)
    val next = flow.admit(large)
    assert(flow.admit(Vector.empty).isCompleted && !next.isCompleted)
    flow.stored()
    assert(next.isCompleted)
