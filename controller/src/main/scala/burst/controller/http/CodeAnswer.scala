package burst.controller.http

import burst.controller.definition.Definition
import burst.controller.store.{Packages, Transfers}
import burst.protocol.PackageId
import io.circe.JsonObject
import io.circe.syntax.*
import java.util.Base64
import org.apache.pekko.http.scaladsl.model.{ContentTypes, HttpEntity, HttpResponse, StatusCodes}
import org.apache.pekko.stream.scaladsl.Source
import org.apache.pekko.util.ByteString
import scala.concurrent.{ExecutionContext, Future}

/** An action with its code, which is read a piece at a time on demand. If the action is deleted meanwhile,
  * the response breaks off, so that no client can mistake it for complete.
  */
final class CodeAnswer(packages: Packages, transfers: Transfers):
  import CodeAnswer.*

  /** Responds with `shown`, the action with an `exec` that has no code yet, and adds the code, which is read
    * on the transfer threads of the namespace `reader`.
    */
  def apply(reader: String, definition: Definition, shown: JsonObject): HttpResponse =
    val exec = shown("exec").flatMap(_.asObject).getOrElse(JsonObject.empty)
    val head = open(shown.remove("exec")) + s""""exec":${open(exec)}"code":""""
    val code =
      Text(reader, definition.packageId, definition.packageSize, definition.action.binary)
    val body = Source.unfoldAsync(Cursor.Head(ByteString(head)))(code.at)
    HttpResponse(StatusCodes.OK, entity = HttpEntity(ContentTypes.`application/json`, body))

  private final class Text(reader: String, id: PackageId, size: Long, binary: Boolean):
    private given ExecutionContext = ExecutionContext.parasitic

    def at(cursor: Cursor): Future[Option[(Cursor, ByteString)]] = cursor match
      case Cursor.Head(text) => Future.successful(Some(Cursor.In(0) -> text))
      case Cursor.In(from) if from >= size => Future.successful(Some(Cursor.End -> ByteString("\"}}")))
      case Cursor.In(from) =>
        Future(piece(from))(using transfers.of(reader)).map: text =>
          Some(Cursor.In(from + Piece) -> text)
      case Cursor.End => Future.successful(None)

    private def piece(from: Long): ByteString =
      val length = (size - from).min(Piece).toInt
      val bytes = packages.read(id, from, length).filter(_.length == length).getOrElse(throw Gone(id))
      if binary then ByteString.fromArrayUnsafe(Base64.getEncoder.encode(bytes)) else escaped(bytes)

object CodeAnswer:
  private final class Gone(id: PackageId)
      extends RuntimeException(s"the package ${id.value} is gone, or another, since it was asked for")

  /** A multiple of three bytes, so that each piece is whole groups of base64. */
  private val Piece = 3 * 64 * 1024

  private enum Cursor:
    case Head(text: ByteString)
    case In(from: Long)
    case End

  /** Returns the text of an object without its closing brace, ready for one more member. */
  private def open(fields: JsonObject): String =
    val text = fields.asJson.noSpaces.dropRight(1)
    if fields.isEmpty then text else s"$text,"

  /** Escapes bytes for a JSON string. A character of several bytes may be split between two pieces: none of
    * its bytes is one of those that are escaped.
    */
  private def escaped(bytes: Array[Byte]): ByteString =
    val builder = ByteString.newBuilder
    builder.sizeHint(bytes.length + bytes.length / 8)
    bytes.foreach:
      case '"' => builder ++= Quote
      case '\\' => builder ++= Backslash
      case '\n' => builder ++= Newline
      case control if control >= 0 && control < ' ' => builder ++= ByteString(f"\\u$control%04x")
      case other => builder += other
    builder.result()

  private val Quote = ByteString("\\\"")
  private val Backslash = ByteString("\\\\")
  private val Newline = ByteString("\\n")
