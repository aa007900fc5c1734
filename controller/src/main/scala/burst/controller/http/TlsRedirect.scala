package burst.controller.http

import burst.controller.http.connection.{Listener, Listening}
import org.apache.pekko.actor.typed.ActorSystem
import org.apache.pekko.http.scaladsl.model.headers.{Connection, Location}
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse, StatusCodes, Uri}
import scala.concurrent.Future

/** `burst.http.tls.redirect-port`: a port without TLS, which redirects clients to the API's port with TLS. */
object TlsRedirect:
  def bind(settings: HttpSettings, secured: Int)(using
      ActorSystem[?]
  ): Future[Option[Listening]] =
    settings.redirectPort.filter(_ => settings.tls.isDefined) match
      case None => Future.successful(None)
      case Some(port) =>
        Listener(settings.connections, settings.server, None)
          .bind(settings.host, port)(request => Future.successful(answer(request, secured)))
          .map(Some(_))(using summon[ActorSystem[?]].executionContext)

  /** Redirects with the same method and body; a client that sends credentials to this port has exposed them
    * already.
    */
  private[http] def answer(request: HttpRequest, secured: Int): HttpResponse =
    val scheme = "https"
    val authority = request.uri.authority.copy(port = secured).normalizedFor(scheme)
    val there = Uri(scheme, authority, request.uri.path, request.uri.rawQueryString)
    HttpResponse(StatusCodes.PermanentRedirect, Seq(Location(there), Connection("close")))
