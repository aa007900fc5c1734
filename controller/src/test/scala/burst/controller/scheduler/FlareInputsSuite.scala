package burst.controller.scheduler

import burst.controller.flare.{FlareRequest, FlareState}
import burst.node.FairSemaphore
import burst.protocol.{Inputs, JsonText}
import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration.DurationLong

/** Large inputs, which are given to packs as soon as there is memory for them. */
class FlareInputsSuite extends SchedulerFixture:
  private def large(retries: Int, namespace: String = "guest"): FlareRequest =
    val text = "x" * Inputs.Small.toInt
    Samples.request(1, namespace, retries = retries).copy(inputs = Inputs.Shared(JsonText(s"\"$text\"")))

  /** Memory of which a flare can have all or nothing, and a part that is in its way. */
  private def scarce(): (FairSemaphore, FairSemaphore.Permit) =
    val memory = FairSemaphore(10)
    (memory, granted(memory.acquire(6)))

  private def granted(taken: Future[FairSemaphore.Permit]) = taken.value.fold(fail("it waits"))(_.get)

  /** One who asks next, once a flare has asked before. */
  private def behindFlare(memory: FairSemaphore): Future[FairSemaphore.Permit] =
    kit.createTestProbe[Any]().awaitAssert:
      val next = memory.acquire(1)
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
    kit.createTestProbe[Any]().awaitAssert(granted(memory.acquire(10)))

  test("the wait for memory is nobody's fault: it is not the flare's time, nor an invoker's"):
    val (memory, held) = scarce()
    val world = World(inputMemory = memory)
    val a = world.invoker("a", 1)
    val flare = world.submit(large(retries = 0))
    val end = world.await(flare.id)
    behindFlare(memory)
    world.pass(Samples.settings.startDeadline * 2)
    world.pass(flare.request.timeout.millis * 2)
    a.hearsNothing()
    assertEquals(quarantined(world), Vector.empty)
    held.close()
    val pack = a.prepared()
    assertEquals(pack.assignment.timeLeft, flare.request.timeout * 1000)
    a.succeed(pack)
    assertEquals(world.ended(end).state, FlareState.Succeeded)

  test("who waits for memory for too long ends as one who waits for slots, and gives them back"):
    val (memory, held) = scarce()
    val world = World(inputMemory = memory)
    val a = world.invoker("a", 1)
    val flare = world.submit(large(retries = 0))
    val end = world.await(flare.id)
    behindFlare(memory)
    world.pass(Samples.settings.queueDeadline)
    val ended = world.ended(end)
    assertEquals(ended.state, FlareState.TimedOut)
    assertEquals(ended.error.flatMap(_.operation), Some("queue"))
    world.eventuallyFree("a" -> 1)
    a.hearsNothing()
    held.close()

  test("a flare that is cancelled while it waits for memory is never asked for"):
    val (memory, held) = scarce()
    val world = World(inputMemory = memory)
    val a = world.invoker("a", 1)
    val flare = world.submit(large(retries = 1))
    val end = world.await(flare.id)
    val next = behindFlare(memory)
    assertEquals(world.cancel(flare.id), CancelOutcome.Accepted)
    assertEquals(world.ended(end).state, FlareState.Cancelled)
    held.close()
    kit.createTestProbe[Any]().awaitAssert(granted(next))
    a.hearsNothing()

  test("namespaces take turns in the wait for memory"):
    val (memory, held) = scarce()
    val world = World(inputMemory = memory)
    val a = world.invoker("a", 1)
    world.submit(large(retries = 0, "many"))
    behindFlare(memory).foreach(_.close())(using ExecutionContext.parasitic)
    val many = Vector.fill(9)(memory.acquire(10, "many"))
    val one = memory.acquire(10, "one")
    held.close()
    a.ready(a.prepared())
    kit.createTestProbe[Any]().awaitAssert(granted(one))
    assert(many.forall(!_.isCompleted))

  private def quarantined(world: World) =
    world.ask[GangScheduler.InvokerList](GangScheduler.ListInvokers(_)).receiveMessage().invokers
      .filter(_.quarantine.isDefined)
