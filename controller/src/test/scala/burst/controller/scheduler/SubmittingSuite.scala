package burst.controller.scheduler

import burst.controller.flare.{ActivationFields, Flare, FlareState, Submission}
import burst.controller.store.{insert, StoreException}
import burst.protocol.{FlareId, Inputs, JsonText, PreparePack, Timestamp}
import java.util.concurrent.atomic.AtomicReference
import org.apache.pekko.actor.testkit.typed.scaladsl.{FishingOutcomes, TestProbe}
import org.apache.pekko.actor.typed.ActorSystem
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.util.Try
import scala.concurrent.{Await, ExecutionContext, Future, TimeoutException}

/** Submitting flares and waiting for them while the scheduler may move to another controller. */
class SubmittingSuite extends SchedulerFixture:
  import GangScheduler.{Submit, Submitted}
  private given ActorSystem[?] = kit.system

  private val waited = Samples.request(1).copy(isWaitedFor = Some(true))

  private def world(): World = World(adoption = Some(10.seconds))

  private def submit(world: World, id: FlareId): TestProbe[Submitted] =
    world.ask[Submitted](Submit(waited, 100, _, Some(id)))

  private def accepted(probe: TestProbe[Submitted]): Submitted.Accepted = probe.receiveMessage() match
    case accepted: Submitted.Accepted => accepted
    case other => fail(s"not accepted: $other")

  private def isAskedForNoPack(invoker: ScriptedInvoker): Unit =
    val told = Iterator.continually(invoker.hears()).takeWhile(_.nonEmpty).flatten.toVector
    assertEquals(told.collect { case prepare: PreparePack => prepare }, Vector.empty)

  private def get[A](future: Future[A]): A = Await.result(future, 60.seconds)

  private def states(world: World, id: FlareId): Option[FlareState] = world.store.find(id).map(_.state)

  test("a flare is answered with its end, and stored when it begins and when it ends"):
    val here = world()
    val a = here.invoker("a", 1)
    val (first, second) = (FlareId.random(), FlareId.random())
    val answers = Vector(first, second).map(submit(here, _))
    val pack = a.prepared()
    assertEquals((states(here, first), states(here, second)), (Some(FlareState.Starting), None))
    a.succeed(pack)
    val (next, _) = a.preparedAndStored()
    a.succeed(next)
    for (answer, id) <- answers.zip(Vector(first, second)) do
      val end = accepted(answer)
      assertEquals((end.flare.id, end.flare.state), (id, FlareState.Succeeded))
      assertEquals(end.results.map(_.output), Vector(Some(Samples.output("0"))))
      assertEquals(states(here, id), Some(FlareState.Succeeded))
    assertEquals(here.store.writes.count(_.startsWith("insert")), 2)
    assert(!here.store.writes.contains("insert Queued"), here.store.writes)

  test("a longer wait is answered with the state: stored as waiting, or running"):
    val here = world()
    val a = here.invoker("a", 1)
    val (runs, waits) = (FlareId.random(), FlareId.random())
    val (running, waiting) = (submit(here, runs), submit(here, waits))
    a.prepared()
    Vector(running, waiting).foreach(_.expectNoMessage(50.millis))
    // Time that passes before a timer is set does not count for it.
    def told(answer: TestProbe[Submitted]): FlareState = kit.createTestProbe[Any]().awaitAssert:
      here.pass(1.second)
      answer.receiveMessage(50.millis) match
        case Submitted.Accepted(flare, _) => flare.state
        case other => fail(s"not accepted: $other")
    assertEquals(told(running), FlareState.Starting)
    assertEquals(told(waiting), FlareState.Queued)
    assertEquals(states(here, waits), Some(FlareState.Queued))

  test("a flare that ends when its answer is due is answered once its end is stored"):
    val here = world()
    val a = here.invoker("a", 1)
    val id = FlareId.random()
    val answer = submit(here, id)
    val pack = a.prepared()
    here.pass(FlareActor.AnsweredWithin - 100.millis)
    here.store.fails = _ == "update"
    a.succeed(pack)
    here.eventuallyFree("a" -> 1)
    here.pass(110.millis)
    answer.expectNoMessage(50.millis)
    val again = submit(here, id)
    again.expectNoMessage(50.millis)
    here.store.fails = _ => false
    val told = kit.createTestProbe[Any]().awaitAssert:
      here.pass(200.millis)
      again.receiveMessage(50.millis)
    told match
      case Submitted.Accepted(flare, results) =>
        assertEquals((flare.state, results.size), (FlareState.Succeeded, 1))
        assertEquals(states(here, id), Some(FlareState.Succeeded))
      case other => fail(s"$other")

  test("a flare submitted again is the same flare in any state, and the last to ask is answered"):
    val here = world()
    val a = here.invoker("a", 1)
    val (runs, waits) = (FlareId.random(), FlareId.random())
    val lost = Vector(runs, waits).map(submit(here, _))
    val pack = a.prepared()
    assertEquals(accepted(submit(here, runs)).flare.state, FlareState.Starting)
    assertEquals(accepted(submit(here, waits)).flare.state, FlareState.Queued)
    val ends = Vector(runs, waits).map(here.await)
    a.succeed(pack)
    val (next, _) = a.preparedAndStored()
    a.succeed(next)
    ends.foreach(end => assertEquals(here.ended(end).state, FlareState.Succeeded))
    lost.foreach(_.expectNoMessage(50.millis))
    here.eventuallyFree("a" -> 1)
    isAskedForNoPack(a)

  test("a flare left by another scheduler is answered with its present state"):
    val left = AdmissionControl.accept(waited, Timestamp.ofMicros(5), Some(FlareId.random()))
    val store = MemoryFlareStore()
    store.insert(left)
    val here = World(store, adoption = Some(10.seconds))
    assertEquals(accepted(submit(here, left.id)).flare.state, FlareState.Queued)
    val a = here.invoker("a", 1)
    val end = here.await(left.id)
    a.succeed(a.prepared())
    assertEquals(here.ended(end).state, FlareState.Succeeded)

  test("a flare that has already ended is not run again"):
    val here = world()
    val a = here.invoker("a", 1)
    val id = FlareId.random()
    val first = submit(here, id)
    a.succeed(a.prepared())
    val end = accepted(first)
    // Its actor may still exist or be stopping: then nobody answers, and the test asks again.
    kit.createTestProbe[Any]().awaitAssert:
      submit(here, id).receiveMessage(50.millis) match
        case Submitted.NotStored(_, _) => ()
        case other =>
          assertEquals(other, end)
          fail("not yet")
    here.eventuallyFree("a" -> 1)
    isAskedForNoPack(a)
    assertEquals(states(here, id), Some(FlareState.Succeeded))

  test("a superseded scheduler does not answer, and one whose store fails reports it"):
    for isAnswered <- Vector(false, true) do
      val here = world()
      val a = here.invoker("a", 1)
      if isAnswered then here.store.fails = _ == "insert" else here.store.superseded = true
      val answer = submit(here, FlareId.random())
      if !isAnswered then answer.expectNoMessage(50.millis)
      else
        answer.receiveMessage() match
          case Submitted.NotStored(_, _) => ()
          case other => fail(s"$other")
      here.eventuallyFree("a" -> 1)
      isAskedForNoPack(a)

  /** The service of a controller, which asks one scheduler after another. */
  private final class Asking(
      host: => SchedulerHost = SchedulerHost.OnSomeController,
      limit: FiniteDuration = 20.seconds
  ):
    val here: World = world()
    val scheduler: TestProbe[GangScheduler.Command] = kit.createTestProbe()
    private val service = ActorFlareService(
      scheduler.ref,
      here.store,
      here.limits,
      Samples.settings.copy(askTimeout = limit, storeDeadline = 2.minutes),
      ExecutionContext.parasitic,
      () => host
    )
    def submit(request: burst.controller.flare.FlareRequest = waited): Future[Either[Refusal, FlareView]] =
      service.submit(request)
    def asked(): Submit = scheduler.expectMessageType[Submit]

  test(
    "without an answer the same flare is submitted again, at growing intervals, and fails in the end"
  ):
    val asking = Asking()
    val answer = asking.submit()
    val first = asking.asked()
    assert(first.id.isDefined)
    asking.here.pass(5.seconds)
    assertEquals(asking.asked().id, first.id)
    asking.here.pass(5.seconds)
    asking.scheduler.expectNoMessage(50.millis)
    asking.here.pass(5.seconds)
    assertEquals(asking.asked().id, first.id)
    // The questions' timers are set concurrently with this loop.
    val deadline = 60.seconds.fromNow
    while !answer.isCompleted && deadline.hasTimeLeft() do asking.here.pass(1.second)
    intercept[TimeoutException](get(answer)): Unit

  test("a flare that got no answer and that nobody can ask for again is cancelled"):
    val keyed = waited.copy(submission = Some(Submission("key", "digest")))
    val plain = Samples.request(1)
    import SchedulerHost.*
    for
      (host, request, isCancelled) <- Vector(
        (Here, plain, true),
        (Here, waited, true),
        (Here, keyed, false),
        (OnSomeController, plain, true),
        (OnSomeController, keyed, false),
        (OfFormerRelease, plain, false)
      )
    do
      val asking = Asking(host, limit = 5.seconds)
      val answer = asking.submit(request)
      val first = asking.asked()
      val deadline = 60.seconds.fromNow
      while !answer.isCompleted && deadline.hasTimeLeft() do asking.here.pass(1.second)
      intercept[TimeoutException](get(answer))
      asking.scheduler.ref ! GangScheduler.Settled
      val told = asking.scheduler.fishForMessage(60.seconds):
        case GangScheduler.Settled => FishingOutcomes.complete
        case _ => FishingOutcomes.continue
      val cancelled = told.collect { case GangScheduler.Cancel(id, CancelledBy.StoreFailure, _) => id }
      assertEquals(cancelled.toVector, if isCancelled then first.id.toVector else Vector.empty)

  test("a new scheduler waits for its invokers, and then refuses what does not fit on them"):
    val here = world()
    val one = submit(here, FlareId.random())
    val id = FlareId.random()
    val lost = here.ask[Submitted](Submit(Samples.request(2), 100, _, Some(id)))
    val two = here.ask[Submitted](Submit(Samples.request(2), 100, _, Some(id)))
    one.expectNoMessage(50.millis)
    val a = here.invoker("a", 1)
    a.succeed(a.prepared())
    assertEquals(accepted(one).flare.state, FlareState.Succeeded)
    two.expectNoMessage(50.millis)
    here.pass(GangScheduler.SettledWithin)
    assertEquals(two.receiveMessage(), Submitted.Refused(Refusal.TooLarge(2, 1)))
    lost.expectNoMessage(50.millis)
    assertEquals(here.submitted(Samples.request(2)), Submitted.Refused(Refusal.TooLarge(2, 1)))

  test("a flare that is cancelled while it waits for invokers does not run"):
    val here = world()
    val id = FlareId.random()
    val answer = submit(here, id)
    assertEquals(here.cancel(id), CancelOutcome.Accepted)
    val a = here.invoker("a", 1)
    here.pass(GangScheduler.SettledWithin)
    here.free()
    isAskedForNoPack(a)
    answer.expectNoMessage(50.millis)
    assertEquals(here.cancel(id), CancelOutcome.NotFound)

  test("the flares waiting for invokers are limited, also by namespace, and refused ones do not run"):
    val settings = Samples.settings.copy(queueLimit = 3, namespaceQueueLimit = 2)
    val here = World(settings = settings, adoption = Some(10.seconds))
    val ids = Vector.fill(3)(FlareId.random())
    def ask(id: FlareId, tenant: String = "A") =
      here.ask[Submitted](Submit(Samples.request(1, tenant), 100, _, Some(id)))
    val first = ids.map(ask(_))
    assertEquals(first(2).receiveMessage(), Submitted.Refused(Refusal.NoInvokers))
    val other = ask(FlareId.random(), "B")
    val again = ask(ids.head)
    assertEquals(ask(FlareId.random(), "C").receiveMessage(), Submitted.Refused(Refusal.NoInvokers))
    val _ = here.invoker("a", 3)
    val taken = Vector(again, first(1), other).map: probe =>
      kit.createTestProbe[Any]().awaitAssert:
        here.pass(1.second)
        probe.receiveMessage(50.millis) match
          case told: Submitted.Accepted => told.flare.id
          case told => fail(s"not accepted: $told")
    assertEquals(taken.take(2), ids.take(2))
    first.head.expectNoMessage(50.millis)
    assertEquals(states(here, ids(2)), None)

  test(
    "when a flare asked for again is refused, the store is checked for its end, or the refusal stands"
  ):
    for hasEnded <- Vector(true, false) do
      val asking = Asking()
      val answer = asking.submit()
      asking.asked()
      asking.here.pass(5.seconds)
      val again = asking.asked()
      if hasEnded then
        val flare = AdmissionControl.accept(waited, Timestamp.ofMicros(5), again.id)
        asking.here.store.insert(flare.copy(
          state = FlareState.Succeeded,
          ended = Some(Timestamp.ofMicros(6))
        ))
      again.replyTo ! Submitted.Refused(Refusal.PackageGone)
      val expected = if hasEnded then Right(FlareState.Succeeded) else Left(Refusal.PackageGone)
      assertEquals(get(answer).map(_.flare.state), expected)

  test("a scheduler of the previous release that keeps having no invokers refuses in the end"):
    val asking = Asking(limit = 5.seconds)
    val answer = asking.submit()
    asking.asked()
    asking.here.pass(5.seconds)
    var refusals = 0
    val deadline = 60.seconds.fromNow
    while !answer.isCompleted && deadline.hasTimeLeft() do
      val heard = Try(asking.scheduler.expectMessageType[Submit](20.millis))
      heard.foreach: submit =>
        submit.replyTo ! Submitted.Refused(Refusal.NoInvokers)
        refusals += 1
      // Do not wait for ever for a request that has not arrived yet.
      asking.here.pass(if heard.isSuccess then 200.millis else 10.millis)
    assertEquals(get(answer), Left(Refusal.NoInvokers))
    // One every 200 ms for the rest of the 10 seconds.
    assert(refusals > 10 && refusals <= 26, s"$refusals")

  test("nothing is submitted again once a controller of an earlier release has joined"):
    val host = AtomicReference(SchedulerHost.OnSomeController)
    val asking = Asking(host.get)
    val answer = asking.submit()
    asking.asked()
    host.set(SchedulerHost.OfFormerRelease)
    asking.here.pass(5.seconds)
    asking.scheduler.expectNoMessage(50.millis)
    intercept[TimeoutException](get(answer)): Unit

  test("an end whose answer was lost is found in the store"):
    val notStored = Submitted.NotStored("storing a flare", RuntimeException("it is stored otherwise"))
    for told <- Vector(Submitted.Refused(Refusal.AlreadySubmitted), notStored) do
      val asking = Asking()
      val answer = asking.submit()
      asking.asked()
      asking.here.pass(5.seconds)
      val submit = asking.asked()
      val flare: Flare = AdmissionControl.accept(waited, Timestamp.ofMicros(5), submit.id)
      asking.here.store.insert(flare.copy(state = FlareState.Failed, ended = Some(Timestamp.ofMicros(6))))
      submit.replyTo ! told
      assertEquals(
        get(answer).map(view => (view.flare.id, view.flare.state)),
        Right((flare.id, FlareState.Failed))
      )

  test(
    "large, keyed and detached flares are submitted again too, and answered once stored"
  ):
    val large = waited.copy(inputs = Inputs.Shared(JsonText(s"\"${"x" * 9000}\"")))
    val keyed = waited.copy(submission = Some(Submission("key", "digest")))
    for request <- Vector(Samples.request(1), keyed, large) do
      val asking = Asking()
      val answer = asking.submit(request)
      val first = asking.asked()
      asking.here.pass(5.seconds)
      val again = asking.asked()
      assertEquals((again.id, again.request), (first.id, request))
      val here = world()
      val a = here.invoker("a", 1)
      val told = here.ask[Submitted](Submit(request, 100, _, again.id))
      a.prepared()
      val accepted = this.accepted(told)
      assertEquals(accepted.flare.state, FlareState.Starting)
      assertEquals(states(here, accepted.flare.id), Some(FlareState.Starting))
      assertEquals(
        this.accepted(here.ask[Submitted](Submit(request, 100, _, again.id))).flare.id,
        accepted.flare.id
      )
      again.replyTo ! accepted
      assertEquals(get(answer).map(_.flare.id), Right(again.id.get))

  test(
    "a part of a sequence is submitted again when it cannot be stored, on any scheduler, and is one flare"
  ):
    val fields = ActivationFields("guest/hello", "0.0.1", "t", 10, 1, None, true, None, false, None)
    val part = Samples.request(1).copy(activation = Some(fields))
    val failed = Submitted.NotStored("storing a flare", RuntimeException("no connection"))
    for host <- Vector(SchedulerHost.Here, SchedulerHost.OnSomeController) do
      val asking = Asking(host)
      val answer = asking.submit(part)
      val first = asking.asked()
      val last = (1 to 3).foldLeft(first): (asked, _) =>
        asked.replyTo ! failed
        kit.createTestProbe[Any]().awaitAssert:
          asking.here.pass(200.millis)
          asking.scheduler.expectMessageType[Submit](20.millis)
      assert(first.id.isDefined)
      assertEquals((last.id, last.request), (first.id, part))
      val flare = AdmissionControl.accept(part, Timestamp.ofMicros(5), last.id)
      last.replyTo ! Submitted.Accepted(flare)
      assertEquals(get(answer).map(_.flare.id), Right(flare.id))
    val once = Asking()
    val refused = once.submit(waited)
    once.asked().replyTo ! failed
    intercept[StoreException](get(refused)): Unit

  test("a superseded scheduler does not answer requests that are due once stored"):
    val here = world()
    val a = here.invoker("a", 1)
    here.store.superseded = true
    val answer = here.ask[Submitted](Submit(Samples.request(1), 100, _, Some(FlareId.random())))
    here.eventuallyFree("a" -> 1)
    answer.expectNoMessage(50.millis)
    isAskedForNoPack(a)

  test(
    "a flare is submitted only once to a scheduler of an earlier release or in this process"
  ):
    for
      (host, request, hasId) <- Vector(
        (SchedulerHost.OfFormerRelease, waited, false),
        (SchedulerHost.Here, waited, true),
        (SchedulerHost.Here, Samples.request(1), true)
      )
    do
      val asking = Asking(host)
      val _ = asking.submit(request)
      assertEquals(asking.asked().id.isDefined, hasId)
      asking.here.pass(10.seconds)
      asking.scheduler.expectNoMessage(50.millis)
