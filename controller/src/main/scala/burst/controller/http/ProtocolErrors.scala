package burst.controller.http

import org.apache.pekko.event.LoggingAdapter
import org.apache.pekko.http.ParsingErrorHandler
import org.apache.pekko.http.javadsl
import org.apache.pekko.http.scaladsl.model.{ErrorInfo, HttpMethods, StatusCode, StatusCodes}
import org.apache.pekko.http.scaladsl.settings.ServerSettings

/** Answers requests that cannot be parsed as HTTP, in the form of all other errors. The caller's bytes are
  * neither logged nor repeated. Named in reference.conf.
  */
object ProtocolErrors extends ParsingErrorHandler:
  override def handle(
      status: StatusCode,
      error: ErrorInfo,
      log: LoggingAdapter,
      settings: ServerSettings
  ): javadsl.model.HttpResponse =
    val id = RequestId.fresh()
    // An unknown method or another version of HTTP is the caller's mistake, not the server's.
    val answer = status match
      // The second is a TRACE with a body.
      case StatusCodes.NotImplemented | StatusCodes.UnprocessableContent =>
        ApiError.response(ApiError.MethodNotAllowed(methods), id)
      case other if other.intValue >= 500 =>
        ApiError.response(StatusCodes.BadRequest, "The request is not HTTP/1.1; correct it.", id)
      case other =>
        ApiError.response(other, s"The request is not valid HTTP: ${other.reason}; correct it.", id)
    RequestId.stamped(answer, id)

  private val methods =
    Seq(HttpMethods.GET, HttpMethods.HEAD, HttpMethods.PUT, HttpMethods.POST, HttpMethods.DELETE)
