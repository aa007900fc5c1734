package burst.controller.scheduler

import burst.controller.placement.Packing
import burst.controller.secrets.Secrets
import burst.controller.limits.ByteRateLimiter
import burst.controller.flare.{Flare, FlareState}
import burst.controller.store.{MemoryDrainedInvokers, Transfers}
import burst.node.MonotonicTime
import burst.protocol.*
import com.typesafe.config.ConfigFactory
import java.util.concurrent.Executors
import java.util.concurrent.atomic.AtomicReference
import munit.FunSuite
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import org.apache.pekko.actor.typed.scaladsl.AskPattern.*
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import org.apache.pekko.actor.typed.{ActorRef, ActorSystem, Behavior}
import org.apache.pekko.util.Timeout
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.util.Random

/** Random flares on invokers that fail in every way they can, in real time and on real threads. The seed is
  * printed. The invariants hold whatever happens: every flare ends once and in the store, with one output or
  * error per worker, no invoker is ever given more than it has, and all slots come back.
  */
class SchedulerSoakSuite extends FunSuite:
  override val munitTimeout = 10.minutes
  private val kit =
    ActorTestKit(ConfigFactory.parseString("pekko.loglevel = OFF").withFallback(ConfigFactory.load()))
  private val threads = Executors.newFixedThreadPool(4)
  override def afterAll(): Unit =
    kit.shutdownTestKit()
    threads.shutdownNow()
    ()

  private given ActorSystem[?] = kit.system
  private given Timeout = Timeout(2.minutes)
  private val stores = ExecutionContext.fromExecutor(threads)

  private val settings = Samples.settings.copy(
    queueLimit = 10000,
    namespaceQueueLimit = 10000,
    overtaking = 100.millis,
    startInterval = 20.millis,
    queueDeadline = 60.seconds,
    startDeadline = 1.second,
    peerGrace = 20.millis,
    abortDeadline = 100.millis,
    lossDeadline = 200.millis,
    cleanupDeadline = 50.millis,
    progressInterval = 10.millis,
    storeRetryPause = 5.millis,
    logBuffer = 100_000
  )

  private val wrong = AtomicReference(Vector.empty[String])

  /** An invoker whose packs behave at random. */
  private final class Chaos(id: InvokerId, slots: Int, random: Random):
    private final case class Open(prepare: Prepared, deaf: Boolean)
    private var open = Map.empty[(FlareId, PackId), Open]

    val behavior: Behavior[InvokerRequest] = Behaviors.receiveMessage {
      case InvokerRequest(PreparePack(a), replyTo) =>
        val prepare = Prepared(a, replyTo)
        val used = open.values.map(_.prepare.assignment.size).sum + a.size
        if used > slots then wrong.updateAndGet(_ :+ s"${id.value} was given $used of $slots slots")
        val chance = random.nextInt(100)
        open = open.updated((a.flareId, a.pack), Open(prepare, deaf = chance >= 98))
        if chance < 75 then
          tell(prepare, PackEvent.Ready(None, Timestamp.ofMicros(1)))
          if a.autostart then work(prepare)
        else if chance < 82 then
          tell(prepare, PackEvent.Ready(None, Timestamp.ofMicros(1)))
          breaks(prepare)
        else if chance < 88 then end(prepare, Some(Failure(FailureKind.StartFailed, "no container")))
        else if chance < 92 then
          tell(prepare, PackEvent.Ready(None, Timestamp.ofMicros(1)))
          end(prepare, None)
        // the others report nothing until they are ordered to end, and the deaf not even then
        Behaviors.same
      case InvokerRequest(StartPack(flare, pack, _), _) =>
        open.get((flare, pack)).filterNot(_.deaf).foreach { entry =>
          if random.nextInt(100) < 92 then work(entry.prepare) else breaks(entry.prepare)
        }
        Behaviors.same
      case InvokerRequest(AbortPack(flare, pack, failure), _) =>
        open.get((flare, pack)).filterNot(_.deaf).foreach(entry => end(entry.prepare, Some(failure)))
        Behaviors.same
      case InvokerRequest(_: (OutputStored | AdoptPack | PackStored | WantRoom) | NothingMore, _) =>
        Behaviors.same
      case InvokerRequest(CleanFlare(flare, _), replyTo) =>
        if random.nextInt(100) < 90 then replyTo ! FlareCleaned(flare, None)
        Behaviors.same
    }

    private def tell(prepare: Prepared, events: PackEvent*): Unit =
      val a = prepare.assignment
      val report = PackReport(a.flareId, a.attempt, a.pack, id, Some(PackStart.Cold), events.toVector)
      prepare.replyTo ! report
      if random.nextInt(20) == 0 then prepare.replyTo ! report

    private def work(prepare: Prepared): Unit =
      prepare.assignment.workers.foreach { worker =>
        tell(
          prepare,
          PackEvent.WorkerStarted(worker, Timestamp.ofMicros(1)),
          PackEvent.WorkerSucceeded(worker, worker.toString, Timestamp.ofMicros(1))
        )
      }
      end(prepare, None)

    private def breaks(prepare: Prepared): Unit =
      val kind = FailureKind.values(random.nextInt(FailureKind.values.length))
      tell(
        prepare,
        PackEvent.WorkerFailed(prepare.assignment.firstWorker, Failure(kind, "broke"), Timestamp.ofMicros(1))
      )

    private def end(prepare: Prepared, error: Option[Failure]): Unit =
      open = open.removed((prepare.assignment.flareId, prepare.assignment.pack))
      tell(prepare, PackEvent.PackEnded(error.isEmpty, error, Timestamp.ofMicros(1)))

  test("random flares, random failures"):
    val seed = sys.props.get("burst.soak.seed").fold(System.nanoTime())(_.toLong)
    println(s"soak: seed $seed (-Dburst.soak.seed=… repeats its choices)")
    val random = Random(seed)
    val store = MemoryFlareStore()
    val environment =
      FlareEnvironment(
        store,
        MemoryDrainedInvokers(),
        Samples.spool,
        Samples.inputMemory,
        Samples.backends,
        settings,
        stores,
        Transfers(stores),
        Clock.ofMachine,
        ByteRateLimiter(settings.namespaceLogRate, settings.namespaceLogBurst),
        Secrets(None),
        InvocationEnvironment(Secrets(None).activationKeys, "")
      )
    val scheduler =
      kit.spawn(GangScheduler(
        environment,
        SlotLimits(Namespaces(), 100, 1.hour, stores, () => MonotonicTime.Zero)
      ))
    val slots = 6
    val ids = Vector.tabulate(4)(i => InvokerId(s"i$i"))

    def bringUp(id: InvokerId): Unit =
      val ref: ActorRef[InvokerRequest] =
        kit.spawn(Chaos(id, slots, Random(random.nextLong())).behavior)
      val status = InvokerStatus(id, slots, 0, "process", 0, RuntimeInfo("x86_64", "2.36"))
      scheduler ! GangScheduler.InvokerUp(status, ref)

    def replace(id: InvokerId): Unit =
      scheduler ! GangScheduler.InvokerLost(id, InvokerLoss.ProcessEnded)
      bringUp(id)

    def submit(): Future[Flare] =
      val request = Samples
        .request(
          random.nextInt(16) + 1,
          s"n${random.nextInt(3)}",
          granularity = Option.when(random.nextBoolean())(random.nextInt(6) + 1),
          packing = Packing.values(random.nextInt(Packing.values.length)),
          retries = random.nextInt(3),
          backend = if random.nextInt(3) == 0 then "redis" else "direct",
          timeout = 400.millis
        )
      scheduler
        .ask[GangScheduler.Submitted](GangScheduler.Submit(request, 1000, _))
        .flatMap {
          case GangScheduler.Submitted.Accepted(flare, _) =>
            if random.nextInt(10) == 0 then
              scheduler ! GangScheduler.Cancel(flare.id, CancelledBy.User, kit.system.ignoreRef)
            scheduler.ask[GangScheduler.Awaited](GangScheduler.Await(flare.id, _)).map {
              case GangScheduler.Awaited.Ended(ended, _) => ended
              case GangScheduler.Awaited.NotActive => store.find(flare.id).get
            }(using ExecutionContext.parasitic)
          case other => Future.failed(AssertionError(s"not accepted: $other"))
        }(using ExecutionContext.parasitic)

    ids.foreach(bringUp)
    // hiccups of the store; a store that takes no new flare only refuses it, which this test is not about
    val hiccups = Random(random.nextLong())
    store.fails = operation => operation != "insert" && hiccups.nextInt(100) == 0
    var flares = Vector.empty[Flare]
    for batch <- 1 to 20 do
      val going = Vector.fill(15)(submit())
      if batch % 3 == 0 then replace(ids(random.nextInt(ids.length)))
      // deaf packs hold their slots for ever: invokers are replaced so that there is always room
      if batch % 2 == 0 then ids.foreach(replace)
      given ExecutionContext = ExecutionContext.parasitic
      val ended = Future.sequence(going)
      var waited = 0
      while !ended.isCompleted && waited < 60 do
        try Await.ready(ended, 500.millis)
        catch case _: java.util.concurrent.TimeoutException => ids.foreach(replace)
        waited += 1
      flares ++= Await.result(ended, 1.second)

    ids.foreach(id => scheduler ! GangScheduler.InvokerLost(id, InvokerLoss.ProcessEnded))
    ids.foreach(bringUp)
    val probe = kit.createTestProbe[GangScheduler.InvokerList]()
    probe.awaitAssert {
      scheduler ! GangScheduler.ListInvokers(probe.ref)
      assertEquals(probe.receiveMessage().invokers.map(_.freeSlots), ids.map(_ => slots))
    }
    assertEquals(wrong.get, Vector.empty)
    flares.foreach { flare =>
      val stored = store.find(flare.id).get
      assertEquals(stored.state, flare.state)
      assert(stored.state.isFinal && stored.workers.forall(_.state.isFinal))
      assertEquals(
        store.results(flare.id, 0, Int.MaxValue).map(_.worker).sorted,
        (0 until flare.request.size).toVector
      )
      assertEquals(stored.error.isEmpty, stored.state == FlareState.Succeeded)
    }
    val counts = flares.groupMapReduce(_.state)(_ => 1)(_ + _)
    println(
      s"soak: ${flares.length} flares ended: ${counts.mkString(", ")}; attempts ${flares.map(_.attempt).sum}"
    )
    assert(counts.getOrElse(FlareState.Succeeded, 0) > 20, counts.toString)
