package burst.protocol

import io.circe.{Codec, Decoder, Encoder}

/** Environment variables of a definition's program, by name. Some are secret: values are never shown. */
final case class Environment(variables: Map[String, String]):
  def isEmpty: Boolean = variables.isEmpty

  /** The length of all names and values together, in characters. */
  def length: Long = variables.iterator.map((name, value) => name.length.toLong + value.length).sum

  override def toString: String = s"Environment(${variables.keys.toVector.sorted.mkString(", ")})"

object Environment:
  val Empty: Environment = Environment(Map.empty)

  given Codec[Environment] = Codec.from(
    Decoder[Map[String, String]].map(Environment(_)),
    Encoder[Map[String, String]].contramap(_.variables)
  )
