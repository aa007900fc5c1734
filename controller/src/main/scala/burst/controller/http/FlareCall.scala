package burst.controller.http

import burst.controller.json.JsonPieces
import burst.controller.flare.{FlareRequest, FlareState}
import burst.controller.scheduler.{FlareService, FlareView, Refusal}
import burst.controller.http.BodyIntake.Growing
import burst.controller.store.Identity
import burst.protocol.FlareId
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse, StatusCodes}
import java.util.concurrent.atomic.AtomicBoolean
import org.apache.pekko.util.ByteString
import scala.concurrent.duration.{Deadline, Duration, DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future}
import scala.util.Success

/** A call that starts something: the common part of flares of a definition, flares on a group, and groups. A
  * call with an [[IdempotencyKey]] starts it once, however often it is made.
  */
final class FlareCall(
    service: FlareService,
    submissions: Submissions,
    intake: BodyIntake,
    pieces: JsonPieces,
    rates: RateLimiter,
    results: ResultAnswer,
    settings: HttpSettings
)(using ExecutionContext):
  import FlareCall.*

  /** Starts the flare that `read` finds in the body, and waits for it when asked to. */
  def apply(caller: Identity, request: HttpRequest)(
      read: SplitBody => Either[ApiError, Growing[FlareRequest]]
  ): Answer =
    val query = QueryParameters(request.uri.query())
    val wanted =
      for
        blockingCall <- query.flag("blocking")
        resultOnly <- query.flag("result")
      yield (blockingCall, resultOnly)
    Refusable(wanted): (blockingCall, resultOnly) =>
      val isWaitedFor = blockingCall && settings.blockingLimit >= Soon
      Refusable(begin(caller, request, isWaitedFor = isWaitedFor)(read)): begun =>
        if blockingCall then ended(begun, resultOnly)
        else Future.successful(accepted(begun.id))

  /** Starts the flare, and completes once it is stored. */
  def submit(
      caller: Identity,
      request: HttpRequest,
      split: ByteString => Either[ApiError, SplitBody] = SplitBody.ofFlare(_, pieces)
  )(
      read: SplitBody => Either[ApiError, Growing[FlareRequest]]
  ): Future[Either[ApiError, FlareId]] =
    begin(caller, request, split)(read).map(_.map(_.id))

  /** Starts the flare; one that is waited for may have ended when this completes. */
  private def begin(
      caller: Identity,
      request: HttpRequest,
      split: ByteString => Either[ApiError, SplitBody] = SplitBody.ofFlare(_, pieces),
      isWaitedFor: Boolean = false
  )(
      read: SplitBody => Either[ApiError, Growing[FlareRequest]]
  ): Future[Either[ApiError, Begun]] =
    val perMinute = caller.limits.flaresPerMinute
    val counted = AtomicBoolean(false)
    def count(): Either[ApiError, Unit] =
      if counted.get then Right(())
      else
        val taken = rates.take(caller.namespace, perMinute).left.map(ApiError.RateLimited(perMinute, _))
        taken.map(_ => counted.set(true))
    // A request with a key may ask for a flare that exists already, which does not count.
    val admitted =
      for
        key <- IdempotencyKey.of(request)
        _ <- if key.isEmpty then count() else Right(())
      yield key
    Refusable(admitted): key =>
      def wanted(bytes: ByteString): Either[ApiError, Growing[Wanted]] =
        submissions
          .of(caller, request, key, bytes)
          .flatMap:
            case Left(id) => Right(Growing.done(Wanted.Stored(id)))
            case Right(submission) =>
              for
                _ <- count()
                split <- split(bytes)
                wanted <- read(split)
                origin = Some(RequestTraces.origin(request))
                waits = Option.when(isWaitedFor)(true)
              yield wanted.map: own =>
                Wanted.New(own.copy(submission = submission, origin = origin, isWaitedFor = waits))
      // Holds the body's memory until the flare is stored: from then on large inputs are on disk.
      val started = intake(caller.namespace, request)(attempt(_, wanted, Submissions.Tries))
      // A refused request was no flare; refusals are bounded together with all other requests.
      started.andThen:
        case Success(Right(begun)) if begun.isNew => ()
        case _ => if counted.get then rates.giveBack(caller.namespace, perMinute)

  /** Submits the flare. If its package was removed in the meantime, or the same request was stored,
    * everything is read again.
    */
  private def attempt(
      body: BodyIntake#Taken,
      wanted: ByteString => Either[ApiError, Growing[Wanted]],
      tries: Int
  ): Future[Either[ApiError, Begun]] =
    val tried = body.growing(wanted):
      case Wanted.Stored(id) => Future.successful(Right(Begun(id, isNew = false, Deadline.now)))
      case Wanted.New(request) =>
        val asked = Deadline.now
        def begun(view: FlareView) = Begun(view.flare.id, isNew = true, asked, Some(view))
        service.submit(request).map(_.map(begun).left.map(ApiError.Refused(_)))
    tried.flatMap:
      case Left(ApiError.Refused(Refusal.PackageGone | Refusal.AlreadySubmitted)) if tries > 1 =>
        attempt(body, wanted, tries - 1)
      case answer => Future.successful(answer)

  private def ended(begun: Begun, resultOnly: Boolean): Answer =
    val seen = begun.view.filter(_.flare.state.isFinal) match
      case None => service.await(begun.id, (begun.asked + settings.blockingLimit).timeLeft.max(Duration.Zero))
      case ended => Future.successful(ended)
    seen.flatMap:
      case Some(FlareView(end, known)) if end.state.isFinal =>
        val status =
          if end.state == FlareState.Succeeded then StatusCodes.OK else StatusCodes.BadGateway
        if resultOnly then Future.successful(Right(results(status, end, known)))
        else Future.successful(Right(JsonMarshalling.response(status, Views.flare(end, estimate = None))))
      case _ => Future.successful(accepted(begun.id))

  private def accepted(id: FlareId): Either[ApiError, HttpResponse] =
    Right(JsonMarshalling.response(StatusCodes.Accepted, Views.accepted(id)))

private object FlareCall:
  /** A caller that waits at least this long receives nothing before the flare is stored. */
  val Soon: FiniteDuration = 5.seconds

  /** What a body asks for: a new flare, or one that is stored already. */
  enum Wanted:
    case New(request: FlareRequest)
    case Stored(id: FlareId)

  /** A flare that was begun: when it was requested, and what is known of it so far. */
  final case class Begun(id: FlareId, isNew: Boolean, asked: Deadline, view: Option[FlareView] = None)
