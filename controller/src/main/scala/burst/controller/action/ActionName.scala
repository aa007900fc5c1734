package burst.controller.action

import burst.controller.definition.EntityName

/** The name of an action: in a package of its namespace, or in none. */
final case class ActionName(namespace: String, packageName: Option[String], name: String):
  /** `NAME` or `PACKAGE/NAME`, the name of its definition. */
  def path: String = (packageName.toVector :+ name).mkString("/")

  /** `/NAMESPACE/[PACKAGE/]NAME`. */
  def qualified: String = s"/$namespace/$path"

object ActionName:
  /** Stands for the caller's namespace. */
  val Own = "_"

  /** Returns the action name for the name that a definition is stored by in its namespace. */
  def of(namespace: String, path: String): ActionName = path.split('/') match
    case Array(packageName, name) => ActionName(namespace, Some(packageName), name)
    case _ => ActionName(namespace, None, path)

  /** Parses `/ns/name`, `/ns/package/name`, or without a namespace `name` and `package/name`, which are the
    * caller's; returns none if it is no name.
    */
  def parse(text: String, caller: String): Option[ActionName] =
    val parts = text.stripPrefix("/").split("/", -1).toVector
    val named = if text.startsWith("/") then parts else caller +: parts
    val resolved = named.map(part => if part == Own then caller else part)
    Option
      .when(
        resolved.drop(1).forall(EntityName.isValid) && resolved.headOption.exists(EntityName.isValid)
      )(resolved)
      .collect:
        case Vector(namespace, name) => ActionName(namespace, None, name)
        case Vector(namespace, packageName, name) => ActionName(namespace, Some(packageName), name)
