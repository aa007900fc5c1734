package burst.controller.http

import org.apache.pekko.http.scaladsl.model.HttpResponse
import org.apache.pekko.http.scaladsl.server.{Route, RouteResult}
import scala.concurrent.{ExecutionContext, Future}

/** The outcome of a call: a response or a refusal. */
type Answer = Future[Either[ApiError, HttpResponse]]

/** Turns an answer into a route; every route ends here. */
object Answer:
  def apply(answer: => Answer): Route = context =>
    answer.map(result => RouteResult.Complete(rendered(result, RequestId.of(context.request))))(
      ExecutionContext.parasitic
    )

  def refused(error: ApiError): Route = context =>
    context.complete(ApiError.response(error, RequestId.of(context.request)))

  private def rendered(result: Either[ApiError, HttpResponse], id: String): HttpResponse =
    result.fold(ApiError.response(_, id), identity)
