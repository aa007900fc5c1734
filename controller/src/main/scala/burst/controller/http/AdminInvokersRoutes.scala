package burst.controller.http

import burst.controller.definition.EntityName
import burst.controller.scheduler.{FlareService, InvokerView}
import burst.controller.store.{Blocking, DrainedInvokers}
import burst.protocol.InvokerId
import org.apache.pekko.http.scaladsl.model.StatusCodes
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.{ExecutionContext, Future}

/** `/admin/invokers/ID/drain`: keeps new flares off a machine until it is resumed. The state is stored first,
  * so that the next scheduler knows it as well.
  */
final class AdminInvokersRoutes(drained: DrainedInvokers, service: FlareService, blocking: Blocking)(using
    ExecutionContext
):
  val route: Route =
    (path("invokers" / Segment / "drain" ~ Slash.?) & QueryParameters.only()): name =>
      val id = InvokerId(name)
      if !EntityName.isValid(name) then Answer.refused(ApiError.NoSuchInvoker(name))
      else concat(get(Answer(found(id))), put(Answer(drain(id))), delete(Answer(resume(id))))

  private def found(id: InvokerId): Answer =
    service
      .invokers()
      .map: known =>
        known
          .find(_.status.id == id)
          .map(view => answer(id, view.drained, Some(view)))
          .toRight(ApiError.NoSuchInvoker(id.value))

  private def drain(id: InvokerId): Answer =
    service
      .invokers()
      .flatMap: known =>
        if !known.exists(_.status.id == id) then Future.successful(Left(ApiError.NoSuchInvoker(id.value)))
        else
          for
            _ <- blocking(drained.add(id))
            view <- service.drain(id, on = true)
          yield Right(answer(id, isDrained = true, view))

  /** Also resumes a machine that has not been seen since, so that it is not still drained if it returns. */
  private def resume(id: InvokerId): Answer =
    for
      was <- blocking(drained.remove(id))
      view <- service.drain(id, on = false)
    yield
      if was || view.isDefined then Right(answer(id, view.exists(_.drained), view))
      else Left(ApiError.NoSuchInvoker(id.value))

  private def answer(id: InvokerId, isDrained: Boolean, view: Option[InvokerView]) =
    JsonMarshalling.response(StatusCodes.OK, Views.drain(id, isDrained, view.fold(0)(_.usedSlots)))
