package burst.controller.scheduler

import burst.controller.limits.ByteRateLimiter
import burst.controller.flare.{Flare, FlareRequest, Output}
import burst.controller.metrics.{FlareMetrics, MetricsSettings}
import burst.controller.secrets.Secrets
import burst.controller.store.{
  DrainedInvokers,
  Identity,
  Issued,
  MemoryDrainedInvokers,
  Namespace,
  NamespaceStore,
  Transfers
}
import burst.controller.limits.OwnLimits
import burst.node.{FairSemaphore, MonotonicTime}
import burst.node.metrics.MetricsRegistry
import burst.node.traces.SpanSink
import burst.protocol.*
import com.typesafe.config.ConfigFactory
import java.util.concurrent.atomic.AtomicLong
import munit.FunSuite
import org.apache.pekko.actor.testkit.typed.scaladsl.{ActorTestKit, ManualTime, TestProbe}
import org.apache.pekko.actor.typed.ActorRef
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.{DurationInt, FiniteDuration}

/** A pack that an invoker was asked to prepare. */
final case class Prepared(assignment: PackAssignment, replyTo: ActorRef[InvokerReport])

/** An invoker played by the test: its requests arrive at a probe, via `hearing` if given, and the test makes
  * its reports.
  */
final class ScriptedInvoker(
    name: String,
    probe: TestProbe[InvokerRequest],
    hearing: Option[ActorRef[InvokerRequest]] = None
):
  val id: InvokerId = InvokerId(name)
  def ref: ActorRef[InvokerRequest] = hearing.getOrElse(probe.ref)

  def status(slots: Int): InvokerStatus =
    InvokerStatus(id, slots, 0.5, "process", 0, RuntimeInfo("x86_64", "2.36"), shares = Some(true))

  private def told[A](what: PartialFunction[InvokerRequest, A]): A =
    what.applyOrElse(probe.receiveMessage(), other => throw AssertionError(s"told $other"))

  def prepared(): Prepared = told { case InvokerRequest(PreparePack(a), replyTo) => Prepared(a, replyTo) }
  def started(): StartPack = told { case InvokerRequest(start: StartPack, _) => start }
  def aborted(): AbortPack = told { case InvokerRequest(abort: AbortPack, _) => abort }
  def adopted(): (AdoptPack, ActorRef[InvokerReport]) =
    told { case InvokerRequest(adopt: AdoptPack, replyTo) => (adopt, replyTo) }

  /** The messages that two flares cause, in either order. */
  def adoptedAndStored(): ((AdoptPack, ActorRef[InvokerReport]), PackStored) = told:
    case InvokerRequest(adopt: AdoptPack, replyTo) => ((adopt, replyTo), stored())
    case InvokerRequest(stored: PackStored, _) => (adopted(), stored)

  /** The messages caused by the end of one flare and the start of the next on its slots, in either order. */
  def preparedAndStored(): (Prepared, PackStored) = told:
    case InvokerRequest(PreparePack(a), replyTo) => (Prepared(a, replyTo), stored())
    case InvokerRequest(stored: PackStored, _) => (prepared(), stored)
  def stored(): PackStored = told { case InvokerRequest(stored: PackStored, _) => stored }
  def outputStored(): OutputStored = told { case InvokerRequest(stored: OutputStored, _) => stored }
  def cleaned(): (CleanFlare, ActorRef[InvokerReport]) =
    told { case InvokerRequest(clean: CleanFlare, replyTo) => (clean, replyTo) }
  def hears(): Option[InvokerCommand] =
    scala.util.Try(probe.receiveMessage(50.millis)).toOption.map(_.command)
  def hearsNothing(): Unit = probe.expectNoMessage(50.millis)

  def report(pack: Prepared, events: PackEvent*): Unit =
    val a = pack.assignment
    pack.replyTo ! PackReport(a.flareId, a.attempt, a.pack, id, Some(PackStart.Warm), events.toVector)

  /** Reports that workers have ended and that the pack needs only this many slots. */
  def needs(pack: Prepared, slots: Int): Unit =
    val a = pack.assignment
    pack.replyTo ! PackReport(a.flareId, a.attempt, a.pack, id, None, Vector.empty, Some(slots))

  def ready(pack: Prepared): Unit =
    report(pack, PackEvent.Ready(Some(s"${id.value}:${pack.assignment.pack}"), Timestamp.ofMicros(1)))

  /** Runs the whole pack immediately: each worker returns its input. */
  def succeed(pack: Prepared): Unit =
    val outputs = pack.assignment.inputs match
      case Inputs.Shared(value) => pack.assignment.workers.map(_ => value)
      case Inputs.Each(values) => values
      case Inputs.OutOfLine(_) => throw IllegalStateException("inputs that are not there")
    val workers = pack.assignment.workers.zip(outputs).flatMap { (worker, output) =>
      Vector(
        PackEvent.WorkerStarted(worker, Timestamp.ofMicros(1)),
        PackEvent.WorkerSucceeded(worker, output.bytes.utf8String, Timestamp.ofMicros(2))
      )
    }
    report(
      pack,
      (PackEvent.Ready(
        None,
        Timestamp.Epoch
      ) +: workers :+ PackEvent.PackEnded(true, None, Timestamp.ofMicros(3)))*
    )

  def fail(pack: Prepared, worker: Int, kind: FailureKind): Unit =
    report(
      pack,
      PackEvent.WorkerFailed(worker, Failure(kind, s"worker $worker broke"), Timestamp.ofMicros(2))
    )

  /** Reports that the container cannot be created. */
  def notUp(pack: Prepared, operation: String = Operation.Create): Unit =
    val why = Failure(FailureKind.StartFailed, "no room on the disk", operation = Some(operation))
    val a = pack.assignment
    pack.replyTo !
      PackReport(
        a.flareId,
        a.attempt,
        a.pack,
        id,
        None,
        Vector(PackEvent.PackEnded(false, Some(why), Timestamp.ofMicros(4)))
      )

  def comesUp(pack: Prepared): Unit =
    val a = pack.assignment
    val ready = Vector(PackEvent.Ready(None, Timestamp.ofMicros(1)))
    pack.replyTo ! PackReport(a.flareId, a.attempt, a.pack, id, Some(PackStart.Cold), ready)

  def end(pack: Prepared): Unit = report(pack, PackEvent.PackEnded(false, None, Timestamp.ofMicros(4)))

/** A store that knows only which namespaces were revoked. */
class Namespaces extends NamespaceStore:
  @volatile var gone = Set.empty[String]
  def revoked(): Set[String] = gone
  def authenticate(uuid: String, key: String): Option[Identity] = None
  def issue(namespace: String, limits: OwnLimits, overwrite: Boolean): Option[Issued] = None
  def establish(namespace: String): Option[String] = None
  def renewKey(namespace: String): Option[String] = None
  def replaceKey(namespace: String): Option[Issued] = None
  def limit(namespace: String, limits: OwnLimits): Option[Namespace] = None
  def revoke(namespace: String): Option[Namespace] = None
  def find(namespace: String): Option[Namespace] =
    Option.when(revoked()(namespace))(Namespace(
      namespace,
      Samples.limits,
      Timestamp.Epoch,
      Some(Timestamp.Epoch),
      ""
    ))
  def list(limit: Int, skip: Int): Vector[Namespace] = Vector.empty

/** A scheduler with a store in memory, and with time that passes on demand. */
abstract class SchedulerFixture extends FunSuite:
  override def munitTimeout = 3.minutes
  protected val kit: ActorTestKit = ActorTestKit(
    ManualTime.config.withFallback(
      ConfigFactory.parseString("pekko.loglevel = OFF")
    ).withFallback(ConfigFactory.load())
  )
  protected val time: ManualTime = ManualTime()(using kit.system)
  override def afterAll(): Unit = kit.shutdownTestKit()

  final class World(
      val store: MemoryFlareStore = MemoryFlareStore(),
      settings: SchedulerSettings = Samples.settings,
      // by default writes return before the next message is handled, so the only order is the actors' own
      blocking: ExecutionContext = ExecutionContext.parasitic,
      revoked: Set[String] = Set.empty,
      inputMemory: FairSemaphore = Samples.inputMemory,
      spool: Spool = Samples.spool,
      transfers: ExecutionContext = ExecutionContext.parasitic,
      secrets: Secrets = Secrets(None),
      drained: DrainedInvokers = MemoryDrainedInvokers(),
      metrics: FlareMetrics = FlareMetrics(MetricsRegistry(), MetricsSettings.Plain),
      adoption: Option[FiniteDuration] = None,
      spans: SpanSink = SpanSink.Off,
      ownsStore: Boolean = true
  ):
    /** The elapsed time, in microseconds. */
    val clock: AtomicLong = AtomicLong(1_000_000L)

    /** By how much the machine's clock was set, in microseconds. */
    val set: AtomicLong = AtomicLong(0L)
    private val elapsed: () => MonotonicTime = () => MonotonicTime.ofMicros(clock.get)
    val health: StoreHealth = StoreHealth()
    private val environment =
      FlareEnvironment(
        store,
        drained,
        spool,
        inputMemory,
        Samples.backends,
        settings,
        blocking,
        Transfers(transfers),
        Clock(() => Timestamp.ofMicros(clock.get + set.get), elapsed),
        ByteRateLimiter(settings.namespaceLogRate, settings.namespaceLogBurst),
        secrets,
        InvocationEnvironment(secrets.activationKeys, Samples.apiHost),
        metrics,
        adoption,
        spans,
        health,
        ownsStore
      )
    val namespaces: Namespaces = Namespaces()
    namespaces.gone = revoked
    val limits: SlotLimits = SlotLimits(namespaces, 100, 10.seconds, blocking, elapsed)
    val scheduler: ActorRef[GangScheduler.Command] = kit.spawn(GangScheduler(environment, limits))

    def invoker(name: String, slots: Int): ScriptedInvoker =
      val invoker = ScriptedInvoker(name, kit.createTestProbe[InvokerRequest]())
      scheduler ! GangScheduler.InvokerUp(invoker.status(slots), invoker.ref)
      invoker

    def ask[A](question: ActorRef[A] => GangScheduler.Command): TestProbe[A] =
      val probe = kit.createTestProbe[A]()
      scheduler ! question(probe.ref)
      probe

    def submitted(request: FlareRequest, slotLimit: Int = 100): GangScheduler.Submitted =
      ask[GangScheduler.Submitted](GangScheduler.Submit(request, slotLimit, _)).receiveMessage()

    def submit(request: FlareRequest): Flare = submitted(request) match
      case GangScheduler.Submitted.Accepted(flare, _) => flare
      case other => fail(s"not accepted: $other")

    def await(id: FlareId): TestProbe[GangScheduler.Awaited] = ask(GangScheduler.Await(id, _))

    def ended(probe: TestProbe[GangScheduler.Awaited]): Flare = probe.receiveMessage() match
      case GangScheduler.Awaited.Ended(flare, _) =>
        assertEquals(store.find(flare.id).map(_.state), Some(flare.state), "stored before it is announced")
        flare
      case GangScheduler.Awaited.NotActive => fail("not active")

    def cancel(id: FlareId): CancelOutcome =
      ask[CancelOutcome](GangScheduler.Cancel(id, CancelledBy.User, _)).receiveMessage()

    def free(): Map[String, Int] =
      val views = ask[GangScheduler.InvokerList](GangScheduler.ListInvokers(_)).receiveMessage().invokers
      views.map(v => v.status.id.value -> v.freeSlots).toMap

    /** Waits until pending messages have been handled and these slots are free. */
    def eventuallyFree(slots: (String, Int)*): Unit =
      kit.createTestProbe[Any]().awaitAssert(assertEquals(free(), slots.toMap))

    /** Ends the workers of a flare's only pack one by one. The released slots show that the flare has handled
      * everything before, including its messages to itself. Of `size` slots two are given back each time.
      */
    final class Steps(invoker: ScriptedInvoker, pack: Prepared):
      private var left = pack.assignment.size
      private val all = free()(invoker.id.value) + left
      def settle(): Unit =
        for _ <- 1 to 2 do
          left -= 1
          invoker.needs(pack, left)
          eventuallyFree(invoker.id.value -> (all - left))

    /** Lets time pass for timers and for the clock. */
    def pass(duration: FiniteDuration): Unit =
      // pending messages are handled first, so that the timers they set count from before
      free()
      clock.addAndGet(duration.toMicros)
      time.timePasses(duration)

    def outputs(id: FlareId): Vector[(Int, Option[String])] =
      store.results(id, 0, Int.MaxValue).sortBy(_.worker).map(r =>
        (r.worker, r.output.collect { case Output.Inline(text) => text.bytes.utf8String })
      )

    def errors(id: FlareId): Vector[(Int, Option[FailureKind])] =
      store.results(id, 0, Int.MaxValue).sortBy(_.worker).map(r => (r.worker, r.error.map(_.kind)))
