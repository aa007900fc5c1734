package burst.controller.web

import burst.controller.action.Action
import io.circe.Json
import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest

/** Who may call a web action. */
enum WebAccess:
  case Anyone

  /** Callers with credentials of the platform. */
  case Known

  /** Callers that know a secret. */
  case Secret(word: String)

  /** Nobody, as the owner's requirement cannot be understood. */
  case Nobody

  override def toString: String = productPrefix

  /** @param known
    *   whether the caller has shown credentials that open a namespace
    * @param shown
    *   the values of the header for the secret
    */
  def problem(known: Boolean, shown: Seq[String]): Option[WebProblem] = this match
    case Anyone => None
    case Known => Option.unless(known)(WebProblem.NeedsCredentials)
    case Secret(word) =>
      // With two headers, a proxy on the way may have checked the other one.
      val right = shown.sizeIs == 1 && shown.forall(WebAccess.equal(_, word))
      Option.unless(right)(WebProblem.NeedsSecret)
    case Nobody => Some(WebProblem.NeedsSecret)

object WebAccess:
  /** The header for the secret. */
  val Header = "x-require-whisk-auth"

  def of(annotation: Option[Json]): WebAccess = annotation.fold(Anyone): value =>
    value.fold(
      Anyone,
      if _ then Known else Anyone,
      number => Secret(number.toString),
      Secret(_),
      _ => Nobody,
      _ => Nobody
    )

  private def equal(one: String, other: String): Boolean =
    MessageDigest.isEqual(one.getBytes(UTF_8), other.getBytes(UTF_8))

/** The rules that an action's annotations set for it as a web action.
  *
  * @param raw
  *   it receives query and body as they are
  * @param customOptions
  *   it answers `OPTIONS`, and decides itself who may call it from a page of another origin
  * @param finals
  *   parameters that nobody can override
  */
final case class WebRules(
    exported: Boolean,
    raw: Boolean,
    customOptions: Boolean,
    access: WebAccess,
    finals: Set[String]
)

object WebRules:
  def of(action: Action): WebRules =
    def isSet(name: String) = action.annotations(name).contains(Json.True)
    val all = action.parameters.toIterable ++ action.initParameters.toIterable
    val defined = all.collect { case (name, value) if !value.isNull => name }.toSet
    WebRules(
      isSet("web-export"),
      isSet("raw-http"),
      isSet("web-custom-options"),
      WebAccess.of(action.annotations("require-whisk-auth")),
      if isSet("final") then defined else Set.empty
    )
