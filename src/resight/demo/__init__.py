"""A small collection with known answers, and one picture that shows what a search found in it.

The photographs lie inside the scikit-image and scikit-learn wheels; nothing is downloaded. The pictures made of them
are altered: tilted, turned, cut, covered. This text is written beside them, as the credit that CC BY asks for.

================== ============================ ===============================================================
photograph         licence                      source, as stated by the package that ships it
================== ============================ ===============================================================
astronaut          public domain                NASA Great Images, https://flic.kr/p/r9qvLn
brick              CC0                          CC0Textures, Bricks25
camera             CC0                          Lav Varshney (the 2020 replacement, scikit-image #3927)
cell               CC0                          Paul Müller et al., doi:10.1364/OE.26.010729
chelsea            CC0                          Stéfan van der Walt
china              CC BY 2.0                    danielbuechele, https://www.flickr.com/photos/danielbuechele/6061409035
clock_motion       public domain                Stéfan van der Walt
coffee             CC0                          Rachel Michetti, courtesy of Pikolo Espresso Bar
coins              no known restrictions        Brooklyn Museum Archives, image 51611 (the museum's statement)
flower             CC BY 2.0                    vultilion, https://www.flickr.com/photos/vultilion/6056698931
grass              CC0                          linolafett, DeviantArt 434853879
gravel             CC0                          CC0Textures, Gravel04
hubble_deep_field  public domain                NASA, HubbleSite release 2012-37
retina             CC0                          Mikael Häggström, doi:10.15347/wjm/2014.008
rocket             public domain                SpaceX, https://www.flickr.com/photos/spacexphotos/16511594820
text               public domain                Wikipedia, File:Corner.png
================== ============================ ===============================================================

Left out, licence unclear: motorcycle (Middlebury permits "use and publish", no more), ihc, page, moon, logo, color.
"""
