package burst.protocol

import io.circe.{Json, Printer}
import java.nio.charset.StandardCharsets.UTF_8
import org.apache.pekko.util.ByteString

/** A JSON document that the platform carries without looking into it: a worker's input or output, as UTF-8,
  * checked where it entered the platform. As text it takes no more memory than its bytes, and nothing
  * recurses into it, however deeply it is nested. In a message between nodes it is base64, which is a third
  * longer; as a JSON string, some characters would take six times the space.
  */
final case class JsonText(bytes: ByteString):
  def length: Int = bytes.length

  /** It may hold a user's data. */
  override def toString: String = s"JsonText($length bytes)"

object JsonText:
  private val printer = Printer.noSpaces

  val Null: JsonText = JsonText("null")
  val EmptyObject: JsonText = JsonText("{}")

  def apply(text: String): JsonText = JsonText(ByteString.fromArrayUnsafe(text.getBytes(UTF_8)))

  /** For a value that is known not to be deeply nested. */
  def of(json: Json): JsonText = JsonText(ByteString.fromByteBuffer(printer.printToByteBuffer(json, UTF_8)))
