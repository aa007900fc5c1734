package burst.controller.definition

/** The versions of a definition: `0.0.` and the number of the deploy, from 1 on. */
object Version:
  private val Form = raw"0\.0\.([1-9]\d{0,8})".r

  def of(revision: Int): String = s"0.0.$revision"

  /** The number of the deploy, if the text is a version at all. */
  def revision(text: String): Option[Int] = text match
    case Form(digits) => digits.toIntOption
    case _ => None
