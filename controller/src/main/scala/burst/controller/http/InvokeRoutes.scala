package burst.controller.http

import burst.controller.action.*
import burst.controller.flare.Submission
import burst.controller.http.BodyIntake.Growing
import burst.controller.json.JsonPieces
import burst.controller.scheduler.Refusal
import burst.controller.store.Identity
import burst.node.logs.LogIds.of
import burst.protocol.{FlareId, JsonText}
import org.apache.pekko.http.scaladsl.model.headers.RawHeader
import org.apache.pekko.http.scaladsl.model.{ContentTypes, HttpEntity, HttpRequest, HttpResponse, StatusCodes}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import org.apache.pekko.util.ByteString
import org.slf4j.LoggerFactory
import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future}
import scala.util.control.NonFatal

/** `POST …/actions/[PACKAGE/]NAME`: invokes an action, in one's own namespace or in a published package of
  * another's.
  */
final class InvokeRoutes(
    actions: Actions,
    invocations: FlareInvocations,
    burstCall: BurstCall,
    submissions: Submissions,
    intake: BodyIntake,
    pieces: JsonPieces,
    longest: FiniteDuration,
    elsewhere: OtherCollections
)(using ExecutionContext):
  import InvokeRoutes.*

  def route(caller: Identity): Route =
    pathPrefix("namespaces" / Segment / "actions"): namespace =>
      concat(
        (path(Segment ~ Slash.?) & post)(name => invoked(caller, s"/$namespace/$name")),
        (path(Segment / Segment ~ Slash.?) & post): (inside, name) =>
          invoked(caller, s"/$namespace/$inside/$name")
      )

  private def invoked(caller: Identity, path: String): Route =
    ActionName.parse(path, caller.namespace) match
      case None => Answer.refused(ApiError.InvalidName)
      case Some(name) => extractRequest(request => Answer(elsewhere(caller)(invoke(caller, name, request))))

  private def invoke(caller: Identity, name: ActionName, request: HttpRequest): Answer =
    val query = QueryParameters(request.uri.query())
    val wanted =
      for
        blockingCall <- query.flag("blocking")
        resultOnly <- query.flag("result")
        timeout <-
          query.int("timeout", default = longest.toMillis.toInt, least = 1, most = longest.toMillis.toInt)
        burst <- query.flag("burst")
        key <- IdempotencyKey.of(request)
      yield (blockingCall, resultOnly, timeout, burst, key)
    Refusable(wanted): (blockingCall, resultOnly, timeout, burst, key) =>
      if burst then burstCall(caller, name, request)
      else
        val limit = Option.when(blockingCall)(timeout.millis)
        Refusable(begin(caller, name, request, key, invocations.waits(limit))): begun =>
          if blockingCall then
            waited(begun, timeout.millis).map(_.fold(accepted(begun.id))(ended(_, resultOnly))).map(Right(_))
          else Future.successful(Right(accepted(begun.id)))

  /** Waits for the end; if waiting fails, the activation continues all the same. */
  private def waited(begun: Begun, limit: FiniteDuration): Future[Option[ActivationRecord]] =
    begun.ended(limit).recover:
      case NonFatal(cause) =>
        log.atWarn().of(begun.id).log("an activation could not be waited for: {}", cause.getMessage)
        None

  private def begin(
      caller: Identity,
      name: ActionName,
      request: HttpRequest,
      key: Option[String],
      isWaitedFor: Boolean
  ): Future[Either[ApiError, Begun]] =
    def wanted(body: ByteString): Either[ApiError, Growing[Wanted]] =
      submissions
        .of(caller, request, key, body)
        .flatMap:
          case Left(id) => Right(Growing.done(Wanted.Begun(id)))
          case Right(submission) =>
            for
              payload <- payload(body)
              action <- actions.find(caller, name).left.map(refusal)
            yield Growing.later(body, action.growth)(Wanted.New(action, payload, submission))
    def begin(taken: BodyIntake#Taken, tries: Int): Future[Either[ApiError, Begun]] =
      val tried = taken.growing(wanted):
        case Wanted.Begun(id) => Future.successful(Right(invocations.begun(caller, id)))
        case Wanted.New(action, payload, submission) =>
          val origin = RequestTraces.origin(request)
          invocations
            .begin(caller, action, payload, origin, submission = submission, isWaitedFor = isWaitedFor)
            .map(_.left.map(refusal))
      tried.flatMap:
        case Left(ApiError.Refused(Refusal.AlreadySubmitted)) if tries > 1 => begin(taken, tries - 1)
        case answer => Future.successful(answer)
    intake(caller.namespace, request, ActionRuns.MostPayload)(begin(_, Submissions.Tries))

  /** Reads the payload; an empty body counts as an empty object. */
  private def payload(body: ByteString): Either[ApiError, JsonText] =
    if body.isEmpty then Right(JsonText.EmptyObject)
    else
      pieces.members(body, ActionRuns.MostPayload) match
        case Right(_) => Right(JsonText(body))
        case Left(JsonPieces.Problem.OtherType) => Left(ApiError.WrongType("", "a JSON object"))
        case Left(JsonPieces.Problem.Repeated) => Left(ApiError.JsonRefused(JsonProblem.RepeatedField))
        case Left(_) => Left(ApiError.MalformedJson)

object InvokeRoutes:
  private val log = LoggerFactory.getLogger(classOf[InvokeRoutes])

  val IdHeader = "X-OpenWhisk-Activation-Id"

  /** What a body asks for: a new invocation, or one that was begun already. */
  private enum Wanted:
    case New(action: Action, payload: JsonText, submission: Option[Submission])
    case Begun(id: FlareId)

  def refusal(problem: ActionProblem): ApiError = ApiError.OfEntity(EntityProblem.Unreachable(problem))

  def refusal(refusal: InvocationRefusal): ApiError = refusal match
    case InvocationRefusal.RateLimited(used) => ApiError.InvocationsLimited(used)
    case InvocationRefusal.FinalParameter(name) => ApiError.FinalParameter(name)
    case InvocationRefusal.PayloadTooLarge(limit) => ApiError.BodyTooLarge(limit)
    case InvocationRefusal.NotEntitled(component) =>
      ApiError.OfEntity(EntityProblem.OfSequence(SequenceProblem.NotEntitled(component)))
    case InvocationRefusal.Gone(problem) => InvokeRoutes.refusal(problem)
    case InvocationRefusal.Refused(refusal) => ApiError.Refused(refusal)

  private def accepted(id: FlareId): HttpResponse =
    JsonMarshalling.response(StatusCodes.Accepted, ActivationViews.accepted(id)).addHeader(header(id))

  private def ended(record: ActivationRecord, resultOnly: Boolean): HttpResponse =
    val status = record.status match
      case ActivationStatus.Success => StatusCodes.OK
      case ActivationStatus.InternalError => StatusCodes.InternalServerError
      case ActivationStatus.ApplicationError | ActivationStatus.DeveloperError => StatusCodes.BadGateway
    // An array is the whole answer, even if the record was asked for.
    val body =
      if resultOnly || ActivationViews.isArray(record.result) then record.result.bytes
      else ActivationViews.whole(record)
    HttpResponse(
      status,
      entity = HttpEntity(ContentTypes.`application/json`, body)
    ).addHeader(header(record.id))

  private def header(id: FlareId) = RawHeader(IdHeader, id.value)
