package burst.controller.http

import burst.controller.store.Identity
import org.apache.pekko.http.scaladsl.server.{Directive0, RouteResult}
import org.apache.pekko.http.scaladsl.server.Directives.mapInnerRoute
import org.apache.pekko.stream.scaladsl.Flow
import org.apache.pekko.util.ByteString
import scala.collection.mutable
import scala.concurrent.{ExecutionContext, Future}

/** How much of the API one namespace may use: requests of any kind per minute, and concurrent ones. A request
  * whose answer is streamed counts until the stream ends or its client has left.
  */
final class RequestLimits(rates: RateLimiter):
  private val underWay = mutable.HashMap[String, Int]()

  def within(caller: Identity): Directive0 =
    val (namespace, limits) = (caller.namespace, caller.limits)
    mapInnerRoute: inner =>
      context =>
        rates.take(namespace, limits.requestsPerMinute) match
          case Left(pause) =>
            Answer.refused(ApiError.RequestsLimited(limits.requestsPerMinute, pause))(context)
          case Right(()) if !enter(namespace, limits.concurrentRequests) =>
            Answer.refused(ApiError.TooManyAtOnce(limits.concurrentRequests))(context)
          case Right(()) =>
            given ExecutionContext = ExecutionContext.parasitic
            // Starts inside a future, so that the count is decremented if it throws.
            Future.unit
              .flatMap(_ => inner(context))
              .map(streaming(namespace, _))
              .andThen { case _ => leave(namespace) }

  /** Counts a request again when its stream begins: the stream of an answer that nobody takes any more never
    * begins, and would never end either.
    */
  private def streaming(namespace: String, result: RouteResult): RouteResult = result match
    case RouteResult.Complete(response) if !response.entity.isStrict =>
      val counted = Flow[ByteString].watchTermination(): (_, ended) =>
        begin(namespace)
        ended.onComplete(_ => leave(namespace))(using ExecutionContext.parasitic)
      RouteResult.Complete(response.mapEntity(_.transformDataBytes(counted)))
    case other => other

  private def begin(namespace: String): Unit = synchronized:
    underWay(namespace) = underWay.getOrElse(namespace, 0) + 1

  private def enter(namespace: String, most: Int): Boolean = synchronized:
    val fits = underWay.getOrElse(namespace, 0) < most
    if fits then begin(namespace)
    fits

  private def leave(namespace: String): Unit = synchronized:
    underWay.updateWith(namespace)(_.map(_ - 1).filter(_ > 0))
