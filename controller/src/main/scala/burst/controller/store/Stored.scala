package burst.controller.store

import org.apache.pekko.util.ByteString
import burst.controller.json.JsonPieces
import burst.protocol.Inputs
import burst.protocol.{FlareId, PackageId}
import io.circe.{parser, Decoder}
import java.nio.charset.StandardCharsets.UTF_8
import scalikejdbc.WrappedResultSet

/** Reads back what these stores wrote. Anything else in the database is damage: it throws, and surfaces as
  * the operation's [[StoreException]].
  */
private[store] object Stored:
  /** The bytes a row takes beside its texts, approximately. */
  val RowBytes = 64L

  final class Damaged(what: String, cause: Throwable | Null = null)
      extends IllegalStateException(s"the database holds $what that cannot be read", cause)

  def json[A: Decoder](text: String): A =
    parser.decode[A](text).fold(cause => throw Damaged("a record", cause), identity)

  /** Reads inputs as `Inputs.text` wrote them. */
  def inputs(text: String): Inputs =
    pieces.members(ByteString(text), most = 1) match
      case Right(Vector("shared" -> value)) => Inputs.Shared(value)
      case Right(Vector("each" -> values)) =>
        Inputs.Each(pieces.elements(values.bytes, Int.MaxValue - 1).getOrElse(throw Damaged("inputs")))
      case _ => throw Damaged("inputs")

  // Stored inputs were checked against a limit when they arrived, and are nested two levels deeper now.
  private val pieces = JsonPieces(depth = 10_000)

  /** Pads a list for a statement by repeating the last value up to a power of two, so that there are few
    * different statements, which the database has prepared.
    */
  def padded(values: Vector[String]): Vector[String] =
    val most = Integer.highestOneBit(values.size)
    if most == values.size then values else values.padTo(2 * most, values.last)

  def packageId(text: String): PackageId = PackageId.parse(text).getOrElse(throw Damaged("a package id"))

  def flareId(text: String): FlareId = FlareId.parse(text).getOrElse(throw Damaged("a flare id"))

  /** Free text is kept as bytes, since not every database's text can hold a NUL. */
  def free(text: String): Array[Byte] = text.getBytes(UTF_8)

  def free(row: WrappedResultSet, column: String): String = String(row.bytes(column), UTF_8)
