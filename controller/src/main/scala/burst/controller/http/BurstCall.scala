package burst.controller.http

import burst.controller.action.{ActionName, Actions, BuiltIns, BurstPack, Pause}
import burst.controller.definition.KindFamily
import burst.controller.flare.{Flare, FlareRequest}
import burst.controller.http.BodyIntake.Growing
import burst.controller.placement.Packing
import burst.controller.json.JsonPieces
import burst.controller.scheduler.{CancelledBy, FlareService}
import burst.controller.store.{Blocking, FlareStore, Identity, StoreException}
import burst.protocol.FlareId
import io.circe.syntax.*
import io.circe.{Json, JsonObject}
import org.apache.pekko.actor.typed.Scheduler
import org.apache.pekko.http.scaladsl.model.{HttpRequest, StatusCodes}
import scala.concurrent.duration.{Deadline, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future}

/** `POST …/actions/NAME?burst=true`, by which the published prototype's programs start a flare of an action:
  * one worker for each element of `value`, and a record for each container.
  *
  * @param longest
  *   the time from the request until the containers are known
  */
final class BurstCall(
    actions: Actions,
    flareBody: FlareBody,
    flareCall: FlareCall,
    service: FlareService,
    flares: FlareStore,
    pieces: JsonPieces,
    blocking: Blocking,
    longest: FiniteDuration
)(using ExecutionContext, Scheduler):
  def apply(caller: Identity, name: ActionName, request: HttpRequest): Answer =
    val deadline = longest.fromNow
    Refusable(options(QueryParameters(request.uri.query()))): own =>
      val begun = flareCall.submit(caller, request, SplitBody.ofBurst(_, pieces)): body =>
        read(caller, name, body, own, RequestId.of(request))
      Refusable(begun): id =>
        placed(id, deadline, Pause.First).map:
          case Some(there) =>
            val ids = there.packs.map(pack => BurstPack.id(there.id, pack.pack))
            Right(JsonMarshalling.response(StatusCodes.Accepted, Json.obj("activationIds" -> ids.asJson)))
          case None => Left(ApiError.TimedOut)

  /** Returns the query's options under the names of a flare's options. */
  private def options(query: QueryParameters): Either[ApiError, Fields] =
    for
      granularity <- query.optionalInt("granularity")
      join <- query.flag("join")
      chunk <- query.optionalInt("chunk_size")
      backend <- query.text("backend")
      _ <- query.flag("debug")
      packing =
        if join then Packing.Mixed
        else if granularity.isDefined then Packing.Homogeneous
        else Packing.Heterogeneous
    yield Fields.of(
      JsonObject.fromIterable(
        Vector("packing" -> packing.asJson)
          ++ granularity.map("granularity" -> _.asJson)
          ++ chunk.map(kilobytes => "chunkSize" -> (kilobytes.toLong * 1024).asJson)
          ++ backend.map("backend" -> _.asJson)
      )
    )

  private def read(
      caller: Identity,
      name: ActionName,
      body: SplitBody,
      own: Fields,
      transaction: String
  ): Either[ApiError, Growing[FlareRequest]] =
    for
      action <- actions.find(caller, name).left.map(InvokeRoutes.refusal)
      kind = action.definition.kind
      _ <- Either.cond(
        kind != BuiltIns.Kind && kind != KindFamily.Sequence.name,
        (),
        ApiError.OfEntity(EntityProblem.NothingToBurst(kind))
      )
      wanted <- flareBody.readBurst(caller, action, body.large, own, transaction)
    yield wanted

  /** Returns the flare once its packs are known. A flare that got no slots in time is cancelled. Keeps
    * looking if the store fails for a moment.
    */
  private def placed(id: FlareId, deadline: Deadline, pause: FiniteDuration): Future[Option[Flare]] =
    val found = blocking(flares.find(id)).recover { case _: StoreException => None }
    found.flatMap:
      case Some(flare) if flare.packs.nonEmpty || flare.state.isFinal => Future.successful(Some(flare))
      case _ if deadline.isOverdue() => service.cancel(id, CancelledBy.User).map(_ => None)
      case _ => Pause.before(pause)(placed(id, deadline, Pause.next(pause)))
