package burst.controller.web

import io.circe.Json
import java.util.Locale
import org.apache.pekko.http.scaladsl.model.HttpHeader
import org.apache.pekko.http.scaladsl.model.headers.RawHeader

/** The headers of an action's response, which a program sends to strangers. */
object WebHeaders:
  /** The most characters of all headers, names and values. */
  val MostCharacters: Int = 16 * 1024

  /** Reads the headers: names as the action wrote them, each with its values. */
  def of(json: Json): Either[WebProblem, Vector[(String, String)]] =
    json.asObject
      .toRight(WebProblem.BadHeader)
      .flatMap(all => sequence(all.toVector.map((name, value) => values(value).map(_.map(name -> _)))))
      .map(_.flatten)
      .flatMap(checked)

  private def checked(all: Vector[(String, String)]): Either[WebProblem, Vector[(String, String)]] =
    val size = all.map((name, value) => name.length + value.length + 4).sum
    if size > MostCharacters then Left(WebProblem.HeadersTooLarge(MostCharacters))
    else if all.forall((name, value) => isName(name) && isValue(value)) then Right(all)
    else Left(WebProblem.BadHeader)

  private def values(json: Json): Either[WebProblem, Vector[String]] = json.fold(
    Left(WebProblem.BadHeader),
    flag => Right(Vector(flag.toString)),
    number => Right(Vector(number.toString)),
    text => Right(Vector(trimmed(text))),
    // Only one array deep: a program could nest them at will.
    each =>
      if each.exists(_.isArray) then Left(WebProblem.BadHeader)
      else sequence(each.map(values)).map(_.flatten),
    _ => Left(WebProblem.BadHeader)
  )

  private def sequence[A](all: Vector[Either[WebProblem, A]]): Either[WebProblem, Vector[A]] =
    all.collectFirst { case Left(problem) => problem }.toLeft(all.collect { case Right(value) => value })

  /** Removes blanks around a value, which are not a part of it. */
  private def trimmed(text: String): String =
    text.take(text.lastIndexWhere(!isBlank(_)) + 1).dropWhile(isBlank)

  private def isBlank(c: Char): Boolean = c == ' ' || c == '\t'

  /** Whether a name is an HTTP token. */
  private def isName(name: String): Boolean =
    name.nonEmpty && name.forall(c =>
      c < 0x7f && (Character.isLetterOrDigit(c) || "!#$%&'*+-.^_`|~".contains(c))
    )

  /** Whether a value contains no line ends, and only ASCII: of another character, a byte might be left that
    * ends a line.
    */
  private def isValue(value: String): Boolean = value.forall(c => (c >= ' ' && c < 0x7f) || c == '\t')

  def contentType(headers: Vector[(String, String)]): Option[String] =
    headers.collectFirst { case (name, value) if lower(name) == "content-type" => value }

  /** Returns the headers that an action may send; the others belong to the server, and are dropped. */
  def allowed(headers: Vector[(String, String)]): Vector[HttpHeader] =
    headers.collect { case (name, value) if !Server(lower(name)) => RawHeader(name, value) }

  private def lower(name: String): String = name.toLowerCase(Locale.ROOT)

  /** Hop-by-hop headers (RFC 9110, 7.6.1), those that describe the message itself, and those that browsers
    * apply to the whole host, on which others have their actions, too.
    */
  private val Server = Set(
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-length",
    "content-type",
    "date",
    "server",
    "x-request-id",
    "x-openwhisk-activation-id",
    "alt-svc",
    "clear-site-data",
    "public-key-pins",
    "service-worker-allowed",
    "strict-transport-security"
  )
