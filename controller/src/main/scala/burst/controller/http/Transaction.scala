package burst.controller.http

import org.apache.pekko.http.scaladsl.model.headers.{Expect, RawHeader}
import org.apache.pekko.http.scaladsl.model.{AttributeKey, HttpRequest, HttpResponse}
import org.apache.pekko.http.scaladsl.server.{Directive0, RouteResult}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.stream.Materializer
import org.apache.pekko.stream.scaladsl.Sink
import scala.concurrent.ExecutionContext
import scala.concurrent.duration.FiniteDuration

/** Each request has an id, under which the log tells what an answer does not: it is an error's `code` and
  * every answer's `X-Request-Id`.
  */
object Transaction:
  val Header = "X-Request-Id"
  private val Key = AttributeKey[String]("burst-transaction")

  def fresh(): String = java.util.UUID.randomUUID.toString.replace("-", "")

  def of(request: HttpRequest): String = request.attribute(Key).getOrElse("")

  /** Gives the request its id and sees an answer off. `drain` is how long a client may go on sending a body
    * that nobody reads: cut off at once it would lose the answer that says why.
    */
  def directive(drain: FiniteDuration)(using Materializer): Directive0 =
    mapInnerRoute: inner =>
      context =>
        val transaction = fresh()
        val request = context.request.addAttribute(Key, transaction)
        inner(context.withRequest(request))
          .map:
            case RouteResult.Complete(response) =>
              if response.status.isFailure then discard(request, drain)
              RouteResult.Complete(stamped(response, transaction))
            case rejected =>
              rejected
          (ExecutionContext.parasitic)

  def stamped(response: HttpResponse, transaction: String): HttpResponse =
    response.addHeader(RawHeader(Header, transaction))

  // A body that was read already refuses to be read again, which is as well. A client that waits for
  // `100 Continue` must not be told to go on.
  private def discard(request: HttpRequest, limit: FiniteDuration)(using Materializer): Unit =
    if !request.entity.isStrict && request.header[Expect].isEmpty then
      request.entity.withoutSizeLimit.dataBytes.takeWithin(limit).runWith(Sink.ignore)
