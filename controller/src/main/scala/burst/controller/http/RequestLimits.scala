package burst.controller.http

import burst.controller.store.Identity
import org.apache.pekko.http.scaladsl.server.Directive0
import org.apache.pekko.http.scaladsl.server.Directives.mapInnerRoute
import scala.collection.mutable
import scala.concurrent.{ExecutionContext, Future}

/** How much of the API one namespace may have: requests of any kind in a minute, and under way at once. */
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
            // Begun within a future, so that it is left when it throws.
            Future.unit.flatMap(_ => inner(context)).andThen { case _ => leave(namespace) }

  private def enter(namespace: String, most: Int): Boolean = synchronized:
    val before = underWay.getOrElse(namespace, 0)
    if before < most then underWay(namespace) = before + 1
    before < most

  private def leave(namespace: String): Unit = synchronized:
    underWay.updateWith(namespace)(_.map(_ - 1).filter(_ > 0))
