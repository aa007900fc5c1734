package burst.controller.http

import burst.controller.definition.{ActionPackage, Definition}
import io.circe.JsonObject
import io.circe.syntax.*

/** The annotations that a list shows of its entities: a list of many with long ones would be held by every
  * client that takes it slowly.
  */
object ListedAnnotations:
  /** Characters of the annotations of one list. Of entities that come after these it shows [[Always]]. */
  val Most: Int = 1024 * 1024

  /** By which clients tell what an entity is. */
  private val Always = Set("feed", "web-export", "raw-http", "final", "exec")
  private val Short = 256

  def ofActions(found: Iterator[Definition]): Vector[Definition] =
    within(found)(_.action.annotations): (definition, shown) =>
      definition.copy(action = definition.action.copy(annotations = shown))

  def ofPackages(found: Iterator[ActionPackage]): Vector[ActionPackage] =
    within(found)(_.annotations)((found, shown) => found.copy(annotations = shown))

  /** Takes one after the other, so that none is held with more than is shown of it. */
  def within[A](found: Iterator[A])(annotations: A => JsonObject)(showing: (A, JsonObject) => A): Vector[A] =
    var left = Most
    found
      .map: entity =>
        val all = annotations(entity)
        left -= all.asJson.noSpaces.length.min(left)
        if left > 0 then entity
        else showing(entity, all.filter((name, value) => Always(name) && value.noSpaces.lengthIs <= Short))
      .toVector
