package burst.controller.blob

import burst.protocol.PackageId

/** A package as it was stored once: no two copies have the same name, so that who deletes one, however late,
  * can never hit another.
  */
final case class PackageCopy(id: PackageId, tag: String):
  /** Of a file or an object. */
  def name: String = if tag.isEmpty then id.value else s"${id.value}.$tag"

object PackageCopy:
  def fresh(id: PackageId): PackageCopy = PackageCopy(id, java.util.UUID.randomUUID.toString)

  def parse(name: String): Option[PackageCopy] =
    val (id, tag) = name.span(_ != '.')
    PackageId.parse(id).map(PackageCopy(_, tag.stripPrefix("."))).filter(_.name == name)
