package burst.controller.http

import burst.controller.scheduler.{FlareService, InvokerView}
import burst.controller.store.{Blocking, DrainedInvokers}
import burst.protocol.InvokerId
import org.apache.pekko.http.scaladsl.model.StatusCodes
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.concurrent.{ExecutionContext, Future}

/** `/admin/invokers/ID/drain`: has a machine be given no more flares while it is there, until that is taken
  * back. It is stored first, so that the next scheduler knows it as well.
  */
final class AdminInvokersRoutes(drained: DrainedInvokers, service: FlareService, blocking: Blocking)(using
    ExecutionContext
):
  val route: Route =
    (path("invokers" / Segment / "drain" ~ Slash.?) & QueryParameters.only()): id =>
      concat(
        put(Answer(drain(InvokerId(id)))),
        delete(Answer(resume(InvokerId(id))))
      )

  private def drain(id: InvokerId): Answer =
    service
      .invokers()
      .flatMap: known =>
        if !known.exists(_.status.id == id) then Future.successful(None)
        else blocking(drained.add(id)).flatMap(_ => service.drain(id, on = true))
      .map(answered(id, _))

  private def resume(id: InvokerId): Answer =
    blocking(drained.remove(id)).flatMap(_ => service.drain(id, on = false)).map(answered(id, _))

  private def answered(id: InvokerId, found: Option[InvokerView]) =
    found
      .map(view => JsonMarshalling.response(StatusCodes.OK, Views.invoker(view)))
      .toRight(ApiError.NoSuchInvoker(id.value))
