package burst.controller.http

import burst.controller.store.{addResults, insert, update}
import burst.controller.flare.*
import burst.controller.scheduler.{
  CancelOutcome,
  CancelledBy,
  FlareService,
  FlareView,
  InvokerView,
  QueueEstimate,
  Refusal
}
import burst.controller.store.{AlreadySubmitted, FlareStore}
import burst.protocol.*
import java.util.concurrent.atomic.AtomicReference
import scala.concurrent.Future
import scala.concurrent.duration.FiniteDuration

/** A scripted scheduler, which stores flares as the real one would. */
final class FakeFlareService(flares: FlareStore) extends FlareService:
  import FakeFlareService.*

  @volatile var refusing: Option[Refusal] = None

  /** Called at each submission, for what happens elsewhere meanwhile. */
  @volatile var meanwhile: () => Unit = () => ()
  @volatile var ending: Flare => Flare = identity
  @volatile var outputs: Vector[WorkerResult] = Vector.empty

  /** Computes the output of a flare of one worker, instead of `outputs`. */
  @volatile var program: Option[FlareRequest => JsonText] = None
  @volatile var cancelling: CancelOutcome = CancelOutcome.Accepted
  @volatile var views: Vector[InvokerView] = Vector(machine)
  @volatile var estimates: Map[FlareId, QueueEstimate[Timestamp]] = Map.empty
  @volatile var hanging: Boolean = false
  @volatile var breaking: Option[Throwable] = None

  /** Whether it never answers when asked for its invokers. */
  @volatile var silent: Boolean = false

  /** All submitted requests that were accepted. */
  @volatile var requests: Map[FlareId, FlareRequest] = Map.empty
  val last: AtomicReference[Option[FlareRequest]] = AtomicReference(None)
  val cancelled: AtomicReference[Option[(FlareId, CancelledBy)]] = AtomicReference(None)

  @volatile var drained: Set[InvokerId] = Set.empty

  def drain(id: InvokerId, on: Boolean): Future[Option[InvokerView]] =
    drained = if on then drained + id else drained - id
    views = views.map(view => view.copy(drained = drained(view.status.id)))
    Future.successful(views.find(_.status.id == id))

  /** The namespace whose flares were last ended. */
  val ended: AtomicReference[Option[String]] = AtomicReference(None)

  def reset(): Unit =
    refusing = None
    meanwhile = () => ()
    ending = identity
    outputs = Vector.empty
    program = None
    requests = Map.empty
    cancelling = CancelOutcome.Accepted
    views = Vector(machine)
    estimates = Map.empty
    hanging = false
    breaking = None
    silent = false
    last.set(None)
    cancelled.set(None)
    ended.set(None)
    drained = Set.empty

  def submit(request: FlareRequest): Future[Either[Refusal, FlareView]] =
    breaking match
      case Some(cause) => Future.failed(cause)
      case None =>
        last.set(Some(request))
        val answer = refusing.fold(store(request))(Left(_))
        meanwhile()
        Future.successful(answer.map(FlareView(_)))

  private def store(request: FlareRequest): Either[Refusal, Flare] =
    val plain = FakeFlareService.queued(request)
    // An idempotency key expires some time after its flare was created, so that time must be real.
    val now = request.submission.map(_ => Timestamp.now())
    val flare = plain.copy(created = now.getOrElse(plain.created))
    try
      flares.insert(flare)
      synchronized:
        requests = requests.updated(flare.id, request)
      Right(flare)
    catch case _: AlreadySubmitted => Left(Refusal.AlreadySubmitted)

  def await(id: FlareId, limit: FiniteDuration): Future[Option[FlareView]] =
    if hanging then Future.never else Future.successful(end(id).map(FlareView(_)))

  private def end(id: FlareId): Option[Flare] =
    flares
      .find(id)
      .map: flare =>
        val ended = ending(flare)
        flares.update(ended)
        flares.addResults(id, outputOf(id))
        ended

  private def outputOf(id: FlareId): Vector[WorkerResult] = program.fold(outputs): run =>
    requests.get(id).toVector.map(request => WorkerResult(0, Some(Output.Inline(run(request))), None))

  def cancel(id: FlareId, by: CancelledBy): Future[CancelOutcome] =
    cancelled.set(Some((id, by)))
    Future.successful(cancelling)
  def endRevoked(namespace: String): Future[Unit] =
    ended.set(Some(namespace))
    breaking.fold(Future.unit)(Future.failed)
  def queueEstimate(id: FlareId): Future[Option[QueueEstimate[Timestamp]]] =
    Future.successful(estimates.get(id))
  def invokers(): Future[Vector[InvokerView]] =
    if silent then Future.never else Future.successful(views)

object FakeFlareService:
  val machine: InvokerView =
    InvokerView(
      InvokerStatus(InvokerId("invoker0"), 8, 0.25, "process", 1, RuntimeInfo("x86_64", "2.36")),
      6,
      up = true
    )

  def queued(request: FlareRequest): Flare = Flare(
    FlareId.random(),
    request,
    FlareState.Queued,
    1,
    None,
    Timestamp.ofMicros(1000),
    None,
    None,
    None,
    None,
    Vector.empty,
    Vector.tabulate(request.size)(w => WorkerRecord(w, None, WorkerState.Pending, None, None, None))
  )

  /** Returns the flare as ended in a state, with all workers on one pack. */
  def ended(state: FlareState, error: Option[Failure] = None)(flare: Flare): Flare = flare.copy(
    state = state,
    granularity = Some(flare.request.size),
    placed = Some(Timestamp.ofMicros(1010)),
    started = Some(Timestamp.ofMicros(1020)),
    ended = Some(Timestamp.ofMicros(1100)),
    error = error,
    packs = Vector(
      PackRecord(PackId(0), InvokerId("invoker0"), flare.workers.map(_.worker), Some(PackStart.Cold))
    ),
    workers = flare.workers.map(
      _.copy(
        pack = Some(PackId(0)),
        state = if error.isEmpty then WorkerState.Succeeded else WorkerState.Failed,
        started = Some(Timestamp.ofMicros(1030)),
        ended = Some(Timestamp.ofMicros(1090)),
        error = error
      )
    )
  )
