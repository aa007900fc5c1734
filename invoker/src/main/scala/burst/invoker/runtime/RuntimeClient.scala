package burst.invoker.runtime

import burst.invoker.driver.RuntimeAddress
import burst.protocol.{Failure, FailureKind, FlareId, PackEvent, RunPack}
import io.circe.jawn.{decodeByteBuffer, parse}
import io.circe.syntax.*
import io.circe.{Json, Printer}
import java.nio.charset.StandardCharsets.UTF_8
import org.apache.pekko.NotUsed
import org.apache.pekko.actor.ClassicActorSystemProvider
import org.apache.pekko.http.scaladsl.Http
import org.apache.pekko.http.scaladsl.model.*
import org.apache.pekko.http.scaladsl.model.headers.{Authorization, OAuth2BearerToken}
import org.apache.pekko.http.scaladsl.settings.ClientConnectionSettings
import org.apache.pekko.io.Inet.SocketOption
import org.apache.pekko.io.Tcp.SO.TcpNoDelay
import org.apache.pekko.stream.scaladsl.{Flow, Sink, Source}
import org.apache.pekko.util.ByteString
import scala.concurrent.duration.{Duration, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future}

/** What a runtime said wrong, or that its stream broke: the pack behind it is lost. */
final class BrokenStream(message: String) extends RuntimeException(message, null, false, false)

/** Talks to the runtime in a container (docs/architecture.md, section 4).
  *
  * Every call has a connection of its own: the streaming one lasts as long as the pack, and none is ever
  * stuck behind another. `maxLine` bounds one event, which may hold a worker's whole output.
  */
final class RuntimeClient(maxLine: Int, connectTimeout: FiniteDuration)(using
    system: ClassicActorSystemProvider
):
  private given ExecutionContext = system.classicSystem.dispatcher

  private val settings =
    val defaults = ClientConnectionSettings(system)
    defaults
      .withConnectingTimeout(connectTimeout)
      // A pack may be silent for as long as its workers compute: deadlines are the pack's business.
      .withIdleTimeout(Duration.Inf)
      .withSocketOptions(List[SocketOption](TcpNoDelay(true)))
      .withParserSettings(defaults.parserSettings.withMaxContentLength(
        Long.MaxValue
      ).withMaxChunkSize(maxLine))

  /** Starts the program in `packagePath` and waits for its hello. The caller bounds the time. */
  def init(address: RuntimeAddress, name: String, packagePath: String): Future[Either[Failure, Unit]] =
    val body = Json.obj("value" -> Json.obj("name" -> name.asJson, "path" -> packagePath.asJson))
    post(address, "/init", body)
      .flatMap: response =>
        if response.status.isSuccess then
          response.discardEntityBytes()
          Future.successful(Right(()))
        else reason(response).map(text => Left(startFailed(s"the package did not start: $text")))
      .recover(problem => Left(startFailed(s"the runtime did not take the package: ${problem.getMessage}")))

  /** Runs a pack. The stream groups the events that arrived together; it fails with `BrokenStream` or what
    * the connection failed with, and whether `PackEnded` was in it is the caller's to see.
    */
  def run(address: RuntimeAddress, pack: RunPack): Future[Either[Failure, Source[Vector[PackEvent], Any]]] =
    post(address, "/packs", pack.asJson)
      .flatMap: response =>
        if response.status.isSuccess then
          Future.successful(Right(response.entity.withoutSizeLimit.dataBytes.via(events)))
        else reason(response).map(text => Left(startFailed(s"the runtime refused the pack: $text")))
      .recover(problem => Left(startFailed(s"the runtime did not take the pack: ${problem.getMessage}")))

  /** `endpoints` by pack id, as a JSON array with null where a pack has none. */
  def start(
      address: RuntimeAddress,
      flareId: FlareId,
      endpoints: Vector[Option[String]]
  ): Future[Either[Failure, Unit]] =
    command(address, s"/packs/${flareId.value}/start", Json.obj("endpoints" -> endpoints.asJson))

  def abort(address: RuntimeAddress, flareId: FlareId, failure: Failure): Future[Either[Failure, Unit]] =
    command(address, s"/packs/${flareId.value}/abort", failure.asJson)

  /** The pack may run for so long from now on. */
  def renew(address: RuntimeAddress, flareId: FlareId, left: FiniteDuration): Future[Either[Failure, Unit]] =
    command(address, s"/packs/${flareId.value}/lease", Json.obj("millis" -> left.toMillis.asJson))

  private def command(address: RuntimeAddress, path: String, body: Json): Future[Either[Failure, Unit]] =
    post(address, path, body)
      .flatMap: response =>
        if response.status.isSuccess then
          response.discardEntityBytes()
          Future.successful(Right(()))
        else reason(response).map(text => Left(Failure(FailureKind.PackLost, s"the runtime refused: $text")))
      .recover: problem =>
        Left(Failure(FailureKind.PackLost, s"the runtime cannot be reached: ${problem.getMessage}"))

  private def post(address: RuntimeAddress, path: String, body: Json): Future[HttpResponse] =
    val bytes = ByteString.fromArrayUnsafe(RuntimeClient.Compact.print(body).getBytes(UTF_8))
    val request = HttpRequest(
      HttpMethods.POST,
      path,
      List(Authorization(OAuth2BearerToken(address.token.hex))),
      HttpEntity.Strict(ContentTypes.`application/json`, bytes)
    )
    val connection =
      Http().connectionTo(address.host).toPort(address.port).withClientConnectionSettings(settings).http()
    Source.single(request).via(connection).runWith(Sink.head)

  private val events: Flow[ByteString, Vector[PackEvent], NotUsed] = Flow[ByteString]
    .statefulMap(() => LineBuffer(maxLine))(
      (buffer, chunk) =>
        buffer.feed(chunk) match
          case Right((rest, lines)) => (rest, lines.map(decodeEvent))
          case Left(LineBuffer.TooLong(limit)) => throw BrokenStream(s"an event has more than $limit bytes")
      ,
      _ => None
    )
    .filter(_.nonEmpty)
    // What arrives while earlier events are being passed on travels with the next ones.
    .batch(RuntimeClient.BatchChunks, identity)(_ ++ _)

  private def decodeEvent(line: ByteString): PackEvent =
    // What was wrong with it is not shown: it may hold a user's data.
    decodeByteBuffer[PackEvent](line.asByteBuffer)
      .fold(_ => throw BrokenStream("the runtime sent what is not an event"), identity)

  private def reason(response: HttpResponse): Future[String] =
    response.entity.withSizeLimit(RuntimeClient.MaxReason).toStrict(connectTimeout).map: entity =>
      val text = entity.data.utf8String
      parse(text).flatMap(_.hcursor.get[String]("error")).getOrElse(s"status ${response.status.intValue}")

  private def startFailed(message: String): Failure = Failure(FailureKind.StartFailed, message)

object RuntimeClient:
  private val Compact = Printer.noSpaces
  private val BatchChunks = 64L
  private val MaxReason = 64L * 1024
