package burst.controller.scheduler

import burst.controller.blob.BlobStoreException
import burst.controller.flare.{FlareRequest, FlareState}
import burst.controller.store.StoreException
import burst.node.FairSemaphore
import burst.protocol.{Inputs, JsonText}
import java.io.IOException
import java.util.concurrent.atomic.AtomicInteger
import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration.DurationInt

/** Large inputs, which are sent to packs once memory for them is available. */
class FlareInputsSuite extends SchedulerFixture:
  private def large(retries: Int, namespace: String = "guest"): FlareRequest =
    val text = "x" * Inputs.Small.toInt
    Samples.request(1, namespace, retries = retries).copy(inputs = Inputs.Shared(JsonText(s"\"$text\"")))

  /** Memory that fits one flare's inputs only as a whole, and a permit that is in the way. */
  private def scarce(): (FairSemaphore, FairSemaphore.Permit) =
    val memory = FairSemaphore(10)
    (memory, granted(memory.acquire(6)))

  private def granted(taken: Future[FairSemaphore.Permit]) = taken.value.fold(fail("it had to wait"))(_.get)

  /** Asks for memory after a flare has asked for it. */
  private def behindFlare(memory: FairSemaphore): Future[FairSemaphore.Permit] =
    kit.createTestProbe[Any]().awaitAssert:
      val next = memory.acquire(1)
      next.value.foreach(_.get.close())
      assert(!next.isCompleted, "no flare has asked yet")
      next

  test("memory that is granted to a flare whose actor has stopped is given back"):
    val (memory, held) = scarce()
    val world = World(inputMemory = memory)
    world.invoker("a", 1)
    world.submit(large(retries = 0))
    val next = behindFlare(memory)
    kit.stop(world.scheduler) // stops the flare's actor with it
    held.close()
    assert(next.isCompleted, "the memory was not given back")

  test("inputs that arrive after their attempt is over are not used for the next one"):
    val (memory, held) = scarce()
    val world = World(inputMemory = memory)
    val a = world.invoker("a", 1)
    val flare = world.submit(large(retries = 1))
    val end = world.await(flare.id)
    val next = behindFlare(memory)
    world.scheduler ! GangScheduler.InvokerLost(a.id, InvokerLoss.ProcessEnded)
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

  test("waiting for memory counts neither as the flare's time nor as an invoker's fault"):
    val (memory, held) = scarce()
    val world = World(inputMemory = memory)
    val a = world.invoker("a", 1)
    val flare = world.submit(large(retries = 0))
    val end = world.await(flare.id)
    behindFlare(memory)
    world.pass(Samples.settings.startDeadline * 2)
    world.pass(flare.request.timeout * 2)
    a.hearsNothing()
    assertEquals(quarantined(world), Vector.empty)
    held.close()
    val pack = a.prepared()
    assertEquals(pack.assignment.timeLeft, flare.request.timeout)
    a.succeed(pack)
    assertEquals(world.ended(end).state, FlareState.Succeeded)

  test("a flare that waits too long for memory ends like one that waits for slots, and frees its slots"):
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

  test("no pack is requested for a flare that is cancelled while it waits for memory"):
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

  /** Makes the first `times` reads of inputs fail, and counts the reads. */
  private def failing(world: World, times: Int)(failure: => Throwable): AtomicInteger =
    val reads = AtomicInteger()
    world.store.fails = operation =>
      operation == "inputs" && reads.incrementAndGet() <= times && { throw failure }
    reads

  private def unread = StoreException("reading inputs", RuntimeException("gone"))

  /** Waits until the flare has given back its memory, and takes it all. */
  private def givenBack(memory: FairSemaphore): FairSemaphore.Permit =
    val all = memory.acquire(10)
    kit.createTestProbe[Any]().awaitAssert(granted(all))

  test("inputs that cannot be read are read again, and others can use the memory in between"):
    val memory = FairSemaphore(10)
    val world = World(inputMemory = memory)
    val failures =
      Vector(unread, BlobStoreException("reading a blob", RuntimeException("gone")), IOException("gone"))
    val left = failures.iterator
    val reads = failing(world, failures.size)(left.next())
    val a = world.invoker("a", 1)
    val flare = world.submit(large(retries = 0))
    val end = world.await(flare.id)
    for time <- 1 to failures.size do
      kit.createTestProbe[Any]().awaitAssert(assertEquals(reads.get, time))
      val all = givenBack(memory)
      a.hearsNothing()
      assertEquals(reads.get, time)
      all.close()
      world.pass(1.second)
    val pack = a.prepared()
    assertEquals(pack.assignment.inputs, large(retries = 0).inputs)
    a.succeed(pack)
    assertEquals(world.ended(end).state, FlareState.Succeeded)

  test("a flare whose inputs stay unreadable until its deadline fails for that reason"):
    val memory = FairSemaphore(10)
    val world = World(inputMemory = memory)
    val a = world.invoker("a", 1)
    val reads = failing(world, Int.MaxValue)(unread)
    val flare = world.submit(large(retries = 0))
    val end = world.await(flare.id)
    kit.createTestProbe[Any]().awaitAssert(assertEquals(reads.get, 1))
    givenBack(memory).close()
    world.pass(Samples.settings.queueDeadline)
    assertEquals(world.ended(end).error.map(_.message), Some("the flare's inputs cannot be read"))
    world.eventuallyFree("a" -> 1)
    a.hearsNothing()

  private def failAtOnce(world: World): Unit =
    val _ = world.invoker("a", 1)
    // It may end before anybody can ask for its end.
    val flare = world.submit(large(retries = 0))
    kit.createTestProbe[Any]().awaitAssert:
      val error = world.store.find(flare.id).flatMap(_.error)
      assertEquals(error.map(_.message), Some("the flare's inputs cannot be read"))
    world.eventuallyFree("a" -> 1)

  test("damaged inputs fail the flare and free its slots"):
    val world = World()
    val reads = failing(world, Int.MaxValue)(IllegalStateException("damaged"))
    failAtOnce(world)
    assertEquals(reads.get, 1)

  test("missing inputs fail the flare and free its slots"):
    val world = World()
    world.store.withoutInputs = true
    failAtOnce(world)

  test("namespaces take turns waiting for memory"):
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
