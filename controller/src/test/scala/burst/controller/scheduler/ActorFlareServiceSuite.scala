package burst.controller.scheduler

import burst.controller.store.{insert, update, StoreException}
import burst.controller.flare.FlareState
import burst.protocol.*
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.actor.typed.{ActorRef, ActorSystem, Behavior}
import java.util.concurrent.atomic.AtomicInteger
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{Await, ExecutionContext, Future}

class ActorFlareServiceSuite extends SchedulerFixture:
  private given ActorSystem[?] = kit.system

  private def service(world: World): ActorFlareService =
    ActorFlareService(
      world.scheduler,
      world.store,
      world.limits,
      Samples.settings,
      ExecutionContext.parasitic
    )

  private def get[A](future: Future[A]): A = Await.result(future, 60.seconds)

  /** An invoker whose workers all succeed immediately. */
  private val prompt: Behavior[InvokerRequest] = Behaviors.receiveMessage {
    case InvokerRequest(PreparePack(a), replyTo) =>
      val workers = a.workers.flatMap(w =>
        Vector(
          PackEvent.WorkerStarted(w, Timestamp.ofMicros(1)),
          PackEvent.WorkerSucceeded(w, "null", Timestamp.ofMicros(1))
        )
      )
      val events = PackEvent.Ready(
        None,
        Timestamp.ofMicros(1)
      ) +: workers.toVector :+ PackEvent.PackEnded(true, None, Timestamp.ofMicros(2))
      replyTo ! PackReport(a.flareId, a.attempt, a.pack, InvokerId("a"), Some(PackStart.Warm), events)
      Behaviors.same
    case _ => Behaviors.same
  }

  private def withPrompt(world: World): World =
    val status = InvokerStatus(InvokerId("a"), 48, 0, "process", 0, RuntimeInfo("x86_64", "2.36"))
    world.scheduler ! GangScheduler.InvokerUp(status, kit.spawn(prompt))
    world

  test("submit and await a flare, and query it after its end"):
    val world = withPrompt(World())
    val flares = service(world)
    val flare = get(flares.submit(Samples.request(8))).toOption.get.flare
    assertEquals(get(flares.await(flare.id, 5.seconds)).map(_.flare.state), Some(FlareState.Succeeded))
    assertEquals(get(flares.await(flare.id, 5.seconds)).map(_.flare.state), Some(FlareState.Succeeded))
    assertEquals(get(flares.await(FlareId.random(), 5.seconds)), None)
    assertEquals(get(flares.cancel(flare.id)), CancelOutcome.AlreadyEnded)
    assertEquals(get(flares.cancel(FlareId.random())), CancelOutcome.NotFound)
    assertEquals(get(flares.submit(Samples.request(49))), Left(Refusal.TooLarge(49, 48)))
    assertEquals(get(flares.invokers()).map(v => (v.status.slots, v.freeSlots, v.up)), Vector((48, 48, true)))

  test("a flare of a revoked namespace is refused, also by the old key, until the namespace has a new one"):
    val world = withPrompt(World())
    val flares = service(world)
    world.namespaces.gone = Set("guest")
    get(flares.endRevoked("guest"))
    assertEquals(get(flares.submit(Samples.request(1))), Left(Refusal.NamespaceRevoked))
    world.namespaces.gone = Set.empty
    assert(get(flares.submit(Samples.request(1))).isRight)

  test("a wait that times out returns the present state"):
    val world = World()
    val a = world.invoker("a", 1)
    val flares = service(world)
    val flare = get(flares.submit(Samples.request(1))).toOption.get.flare
    a.prepared()
    val answer = flares.await(flare.id, 30.seconds)
    // the questions' timers are set concurrently with this loop
    val deadline = 60.seconds.fromNow
    while !answer.isCompleted && deadline.hasTimeLeft() do world.pass(1.second)
    assertEquals(get(answer).map(_.flare.state), Some(FlareState.Starting))

  test("a flare's end is found even if the scheduler that was asked no longer exists"):
    val world = World()
    world.invoker("a", 1)
    val silent = kit.createTestProbe[GangScheduler.Command]()
    val flare = get(service(world).submit(Samples.request(1))).toOption.get.flare
    val asking =
      ActorFlareService(silent.ref, world.store, world.limits, Samples.settings, ExecutionContext.parasitic)
    val answer = asking.await(flare.id, 30.seconds)
    silent.expectMessageType[GangScheduler.Await]
    world.store.update(flare.copy(state = FlareState.Failed, ended = Some(Timestamp.ofMicros(1))))
    world.pass(5.seconds)
    assertEquals(get(answer).map(_.flare.state), Some(FlareState.Failed))

  test("waiting continues for a flare that is not stored yet"):
    val world = World()
    val silent = kit.createTestProbe[GangScheduler.Command]()
    val asking =
      ActorFlareService(silent.ref, world.store, world.limits, Samples.settings, ExecutionContext.parasitic)
    val id = burst.protocol.FlareId.random()
    val answer = asking.await(id, 30.seconds)
    val first = silent.expectMessageType[GangScheduler.Await]
    world.pass(5.seconds)
    // The store is searched first.
    val again = kit.createTestProbe[Any]().awaitAssert:
      world.pass(1.second)
      silent.expectMessageType[GangScheduler.Await](50.millis)
    assert(!answer.isCompleted)
    again.replyTo ! GangScheduler.Awaited.NotActive
    assertEquals(get(answer), None)
    assertEquals(first.id, again.id)

  /** A caller that asks this scheduler for the end of a flare which the store already has. */
  private final class Asker(scheduler: ActorRef[GangScheduler.Command]):
    private val world = World()
    world.invoker("a", 1)
    private val flare = world.submit(Samples.request(1))
    private val store = MemoryFlareStore()
    store.insert(flare.copy(state = FlareState.Failed, ended = Some(Timestamp.ofMicros(1))))
    private val asking =
      ActorFlareService(scheduler, store, world.limits, Samples.settings, ExecutionContext.parasitic)
    val reads = AtomicInteger()

    /** Makes the first `times` reads of the flare's record fail. */
    def failing(
        times: Int,
        failure: => Throwable = StoreException("reading a flare", RuntimeException("gone"))
    ): Unit =
      store.beforeFind = () => if reads.incrementAndGet() <= times then throw failure

    def await(limit: FiniteDuration): Future[Option[FlareView]] = asking.await(flare.id, limit)

    /** Lets time pass until the answer arrives. */
    def answered(answer: Future[Option[FlareView]]): Option[FlareState] =
      val deadline = 60.seconds.fromNow
      while !answer.isCompleted && deadline.hasTimeLeft() do world.pass(1.second)
      get(answer).map(_.flare.state)

  private def silent(): ActorRef[GangScheduler.Command] = kit.createTestProbe[GangScheduler.Command]().ref

  /** A scheduler that knows of no flare. */
  private def ignorant(): ActorRef[GangScheduler.Command] = kit.spawn(Behaviors.receiveMessage {
    case GangScheduler.Await(_, replyTo) =>
      replyTo ! GangScheduler.Awaited.NotActive
      Behaviors.same
    case _ => Behaviors.same
  })

  for (whose, scheduler) <-
      Vector(("that is silent", () => silent()), ("that does not know it", () => ignorant()))
  do
    test(s"a wait for a flare's end at a scheduler $whose lasts until the store can be read"):
      val asker = Asker(scheduler())
      asker.failing(times = 2)
      assertEquals(asker.answered(asker.await(60.seconds)), Some(FlareState.Failed))
      assertEquals(asker.reads.get, 3)

    test(s"a wait for a flare's end at a scheduler $whose is limited even if the store fails"):
      val asker = Asker(scheduler())
      asker.failing(times = Int.MaxValue)
      assertEquals(asker.answered(asker.await(2.seconds)), None)
      assert(asker.reads.get > 0)

  test("a failing store is asked again after a pause"):
    val asker = Asker(ignorant())
    asker.failing(times = 1)
    val answer = asker.await(60.seconds)
    kit.createTestProbe[Any]().awaitAssert(assertEquals(asker.reads.get, 1))
    kit.createTestProbe[Any]().expectNoMessage(50.millis)
    assertEquals(asker.reads.get, 1)
    assertEquals(asker.answered(answer), Some(FlareState.Failed))

  test("an error that is not the store's ends the wait immediately"):
    val asker = Asker(ignorant())
    asker.failing(times = Int.MaxValue, IllegalStateException("a defect"))
    intercept[IllegalStateException](get(asker.await(60.seconds)))

  test("a flare that cannot be stored is reported as a store failure"):
    val world = withPrompt(World())
    world.store.fails = _ == "insert"
    intercept[StoreException](get(service(world).submit(Samples.request(1))))

  test("overhead of the platform for 48 workers that do nothing (time printed, not asserted)"):
    val world = withPrompt(World())
    val flares = service(world)
    val times = Vector.fill(300) {
      val begin = System.nanoTime()
      val flare = get(flares.submit(Samples.request(48))).toOption.get.flare
      get(flares.await(flare.id, 5.seconds))
      (System.nanoTime() - begin) / 1000
    }.sorted
    println(s"submit to result, 48 workers, store in memory: median ${times(150)} µs, p99 ${times(296)} µs")
