package burst.controller.scheduler

import burst.controller.flare.{FlareRequest, FlareState}
import burst.node.Allowance
import burst.protocol.{Inputs, JsonText}
import scala.concurrent.Future

/** Large inputs, which are given to packs as soon as there is memory for them. */
class FlareInputsSuite extends SchedulerFixture:
  private def large(retries: Int): FlareRequest =
    val text = "x" * Inputs.Small.toInt
    Samples.request(1, retries = retries).copy(inputs = Inputs.Shared(JsonText(s"\"$text\"")))

  /** Memory of which a flare can have all or nothing, and a part that is in its way. */
  private def scarce(): (Allowance, Allowance.Grant) =
    val memory = Allowance(10)
    (memory, granted(memory.take(6)))

  private def granted(taken: Future[Allowance.Grant]) = taken.value.fold(fail("it waits"))(_.get)

  /** One who asks next, once a flare has asked before. */
  private def behindFlare(memory: Allowance): Future[Allowance.Grant] =
    kit.createTestProbe[Any]().awaitAssert:
      val next = memory.take(1)
      next.value.foreach(_.get.close())
      assert(!next.isCompleted, "no flare has asked yet")
      next

  test("memory that is granted to a flare whose actor is gone is given back"):
    val (memory, held) = scarce()
    val world = World(inputMemory = memory)
    world.invoker("a", 1)
    world.submit(large(retries = 0))
    val next = behindFlare(memory)
    kit.stop(world.scheduler) // and the flare's with it
    held.close()
    assert(next.isCompleted, "the memory is lost")

  test("inputs that come when their attempt is over are not taken for the next one's"):
    val (memory, held) = scarce()
    val world = World(inputMemory = memory)
    val a = world.invoker("a", 1)
    val flare = world.submit(large(retries = 1))
    val end = world.await(flare.id)
    val next = behindFlare(memory)
    world.scheduler ! GangScheduler.InvokerLost(a.id, "silent")
    val b = world.invoker("b", 1)
    kit.createTestProbe[Any]().awaitAssert:
      val starts = world.store.writes.filter(_.endsWith("Starting"))
      assertEquals(starts, Vector("insert Starting", "update Starting"))
    held.close()
    kit.createTestProbe[Any]().awaitAssert(granted(next)).close()
    b.succeed(b.prepared())
    assertEquals(world.ended(end).state, FlareState.Succeeded)
    a.hearsNothing()
    kit.createTestProbe[Any]().awaitAssert(granted(memory.take(10)))
