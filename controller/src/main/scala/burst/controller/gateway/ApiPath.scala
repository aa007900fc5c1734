package burst.controller.gateway

import burst.controller.web.WebRequest

/** A path below an API's base path, in which some segments may be parameters. */
final case class ApiPath private (segments: Vector[ApiPath.Part]):
  import ApiPath.Part

  def parameters: Vector[String] = segments.collect { case Part.Parameter(name) => name }

  /** Returns the values of the parameters in a path, if it matches. */
  def values(path: Vector[String]): Option[Vector[(String, String)]] =
    // Most paths do not match, which is cheap to determine.
    val fits = segments.sizeIs == path.size && segments.corresponds(path):
      case (Part.Literal(text), segment) => text == segment
      // An empty segment is no value.
      case (Part.Parameter(_), segment) => segment.nonEmpty
    Option.when(fits):
      segments.zip(path).collect { case (Part.Parameter(name), segment) => name -> segment }

object ApiPath:
  enum Part:
    case Literal(text: String)
    case Parameter(name: String)

  val MaxLength = 512
  private val Name = raw"\{(\w{1,64})\}".r
  private val Plain = raw"[\w@.~!$$&'()*+,;=:-]*".r

  /** Parses `/a/{b}/c`: begins with a slash, and has parameters as whole segments. */
  def parse(text: String): Option[ApiPath] =
    Option
      .when(text.startsWith("/") && text.lengthIs <= MaxLength)(split(text).map(part))
      .filter(_.forall(_.isDefined))
      .map(parts => ApiPath(parts.flatten))
      .filter: path =>
        val names = path.parameters
        names.distinct == names && !names.exists(WebRequest.isOwn)

  private def part(segment: String): Option[Part] = segment match
    case Name(name) => Some(Part.Parameter(name))
    case "." | ".." => None
    case Plain() => Some(Part.Literal(segment))
    case _ => None

  /** Whether a text is a base path, the prefix of all paths of an API: `/`, or names without a trailing
    * slash.
    */
  def isBase(text: String): Boolean =
    text == "/" || (!text.endsWith("/") && parse(text).exists(_.parameters.isEmpty) && !text.contains("//"))

  def split(path: String): Vector[String] = path.stripPrefix("/").split("/", -1).toVector
