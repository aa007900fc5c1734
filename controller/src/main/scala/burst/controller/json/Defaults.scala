package burst.controller.json

import burst.protocol.JsonText
import io.circe.{Json, JsonObject}
import org.apache.pekko.util.ByteString
import scala.collection.immutable.BitSet

/** Members for objects that do not have them, encoded once for however many objects. */
final class Defaults(members: Vector[(String, JsonText)]):
  // Each with the comma behind it.
  private val encoded = members.map: (name, value) =>
    (ByteString(Json.fromString(name).noSpaces) ++ ByteString(":") ++ value.bytes ++ ByteString(",")).toArray
  private val indexes = members.iterator.map(_._1).zipWithIndex.toMap

  def isEmpty: Boolean = encoded.isEmpty

  /** The index of the member of that name. */
  private[json] def indexOf(name: String): Option[Int] = indexes.get(name)

  /** Bytes by which an object grows that has none of them. */
  val length: Int = encoded.iterator.map(_.length).sum

  /** An object with those before its own members whose indexes are not among `named`, in one array. */
  private[json] def under(text: JsonText, named: BitSet, empty: Boolean): Filled =
    // Before the end of an empty object there is no comma: what follows is written over it.
    val more = length - named.iterator.map(encoded(_).length).sum - (if empty then 1 else 0)
    if named.size == encoded.size then Filled.asItIs(text)
    else
      val own = text.bytes.drop(text.bytes.indexOf('{'.toByte) + 1)
      Filled(1 + more + own.length, isNew = true, () => whole(named, more, own))

  private def whole(named: BitSet, more: Int, own: ByteString): JsonText =
    val whole = new Array[Byte](1 + more + own.length)
    whole(0) = '{'
    var at = 1
    for (member, index) <- encoded.iterator.zipWithIndex if !named(index) do
      System.arraycopy(member, 0, whole, at, member.length.min(whole.length - at))
      at += member.length
    own.copyToArray(whole, 1 + more, own.length)
    JsonText(ByteString.fromArrayUnsafe(whole))

object Defaults:
  def of(parameters: JsonObject): Defaults =
    Defaults(parameters.toVector.map((name, value) => name -> JsonText.of(value)))

/** An object with defaults under it, of which the length is known before it is made.
  *
  * @param isNew
  *   whether it is another text than that of the object
  */
final class Filled private[json] (val length: Int, val isNew: Boolean, make: () => JsonText):
  def text: JsonText = make()

private[json] object Filled:
  def asItIs(text: JsonText): Filled = Filled(text.length, isNew = false, () => text)
