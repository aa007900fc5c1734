package burst.controller.gateway

import burst.controller.action.ActionName
import burst.controller.definition.EntityName
import burst.controller.web.WebExtension
import io.circe.{Json, JsonObject}

/** The web action behind an operation.
  *
  * @param secret
  *   the secret that the action requires
  */
final case class Backend(action: ActionName, extension: WebExtension, secret: Option[String]):
  override def toString: String = s"Backend(${action.qualified}${extension.suffix})"

  /** Returns the field that names it in a document; `site` is the beginning of its URL. */
  def extensionField(site: String): Json =
    val inPackage = action.packageName.getOrElse(Backend.NoPackage)
    val fields = JsonObject(
      "namespace" -> Json.fromString(action.namespace),
      "package" -> Json.fromString(inPackage),
      "action" -> Json.fromString(action.name),
      "url" -> Json.fromString(
        s"$site/api/v1/web/${action.namespace}/$inPackage/${action.name}${extension.suffix}"
      )
    )
    Json.fromJsonObject(secret.fold(fields)(word => fields.add(Backend.Secret, Json.fromString(word))))

object Backend:
  /** The field of an operation that names it. */
  val Field = "x-openwhisk"

  val NoPackage = "default"
  private val Secret = "secureKey"

  def read(field: Json, caller: String): Option[Backend] =
    for
      fields <- field.asObject
      name <- text(fields, "action")
      namespace = text(fields, "namespace").getOrElse(ActionName.Own)
      inPackage = text(fields, "package").filter(it => it.nonEmpty && it != NoPackage)
      action <- named(namespace, inPackage, name, caller)
      extension = text(fields, "url").fold(WebExtension.Http)(url => WebExtension.split(url)(1))
    yield Backend(action, extension, secret(fields))

  def named(namespace: String, inPackage: Option[String], name: String, caller: String): Option[ActionName] =
    val owner = if namespace == ActionName.Own then caller else namespace
    Option.when((owner +: name +: inPackage.toSeq).forall(EntityName.isValid))(ActionName(
      owner,
      inPackage,
      name
    ))

  /** Reads a string or a number; any other value counts as none. */
  def secret(fields: JsonObject): Option[String] =
    fields(
      Secret
    ).flatMap(value => value.asString.orElse(value.asNumber.map(_.toString))).filter(_.forall(isPlain))

  private def isPlain(c: Char): Boolean = c >= ' ' && c < 0x7f

  private def text(fields: JsonObject, name: String): Option[String] = fields(name).flatMap(_.asString)
